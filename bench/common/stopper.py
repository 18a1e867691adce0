"""Runs commands that SIGINT and SIGTERM end. The signals raise nothing: the command ends, its last figures are
still read from the pipe, and then `asked` is looked at."""
import contextlib
import os
import signal
import subprocess

GRACE_S = 1  # for a command to end itself


class Stopper:
    def __init__(self):
        self.asked = False
        self._child = None
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._ask)
        signal.signal(signal.SIGALRM, lambda _number, _frame: self.end(signal.SIGKILL))

    def _ask(self, _number, _frame):
        self.asked = True
        self.end(signal.SIGTERM)
        signal.alarm(GRACE_S)

    def end(self, number=signal.SIGKILL):
        """The command and all that it started: it leads a process group of its own."""
        if self._child is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._child.pid, number)

    @contextlib.contextmanager
    def running(self, command, **options):
        """The process of `command`, waited for at the end."""
        with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf8", start_new_session=True,
                              **options) as child:
            self._child = child
            if self.asked:  # a signal between the two lines above
                self.end()
            try:
                yield child
            finally:
                child.wait()
                self._child = None
