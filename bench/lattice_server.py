"""`lattice serve` for the programs of this folder that ask it over HTTP."""
import contextlib
import http.client
import json
import socket
import subprocess
import sys
import time


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class LatticeServer:
    def __init__(self, lattice, model, parallel, context):
        self.port = free_port()
        self.process = subprocess.Popen([lattice, "-q", "serve", "--model", model, "--port", str(self.port), "--parallel",
                                         str(parallel), "--context", str(context)], stdout=subprocess.DEVNULL)
        while True:
            try:
                self.request("GET", "/health")
                return
            except OSError:
                if self.process.poll() is not None:
                    sys.exit("the server did not start")
                time.sleep(0.1)

    def request(self, method, path, body=None):
        """The status and the object of an answer, however long it takes."""
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port)) as connection:
            connection.request(method, path, body=body and json.dumps(body), headers={"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, json.loads(response.read() or b"{}")

    def end(self):
        self.process.terminate()
        self.process.wait()
