"""Tests of a server whose models say what a script lets them say."""
import tempfile
import unittest

import scripted_model
from server_test import Server


class ScriptedCase(unittest.TestCase):
    """One server for the tests of a class: all scripted models, and what FLAGS add."""
    FLAGS = ()

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.serve(scripted_model.write_all(cls.folder.name), *cls.FLAGS)

    @classmethod
    def serve(cls, models, *flags):
        cls.server = Server(*(f"--model={model}" for model in models), *flags)
        cls.url = f"http://127.0.0.1:{cls.server.port}"

    @classmethod
    def tearDownClass(cls):
        assert cls.server.end() == 0
        cls.server.close()
        cls.folder.cleanup()
