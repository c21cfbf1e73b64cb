"""Models that have to be fetched. See command_line.py for how to run it."""
import os
import signal
import socket
import subprocess

from command_line import BINARY, CommandLine, main


class HubTest(CommandLine):
    def test_the_first_interrupt_ends_a_download(self):
        with socket.create_server(("127.0.0.1", 0)) as hub:  # takes the request and never answers
            hub.settimeout(60)
            environment = dict(os.environ, LATTICE_OFFLINE="0", no_proxy="127.0.0.1",
                               HF_ENDPOINT=f"http://127.0.0.1:{hub.getsockname()[1]}",
                               LATTICE_MODEL_CACHE=self.path("cache"))
            with subprocess.Popen([BINARY, "embed", "--model", "someone/model", "x"], env=environment,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
                self.addCleanup(program.kill)
                connection, _ = hub.accept()
                with connection:
                    self.assertTrue(connection.recv(1))
                    program.send_signal(signal.SIGINT)
                    _, complaint = program.communicate(timeout=20)  # the transfer's own limit: 30 s
        self.assertEqual(program.returncode, 1)
        self.assertIn(b"cancelled", complaint)


if __name__ == "__main__":
    main()
