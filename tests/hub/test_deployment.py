"""What the docs offer for running a hub: a composition of containers, settings to begin with, tests that are there."""

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import yaml

from kb.hub.door_settings import DoorSettings, read_door_settings

ROOT = Path(__file__).parents[2]
SERVICE_KEYS = set(
    "build cap_drop command depends_on env_file environment healthcheck image mem_limit pids_limit ports read_only"
    " restart security_opt stop_grace_period tmpfs volumes".split()
)
"""Those of the Compose specification that the file may use; a slip of the pen is none of them."""
HEALTH_KEYS = {"test", "interval", "timeout", "retries", "start_period"}
DURATION = re.compile(r"[0-9]+(s|m)")


def load_composition() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "compose.yml").read_text("utf-8"))
    return loaded


def test_the_composition_is_one() -> None:
    composition = load_composition()
    assert set(composition) == {"name", "services", "volumes"} and set(composition["services"]) == {"hub", "db"}
    for name, service in composition["services"].items():
        assert set(service) <= SERVICE_KEYS, name
        assert ("build" in service) != ("image" in service)
        assert set(service["healthcheck"]) <= HEALTH_KEYS and service["healthcheck"]["test"][0] in ("CMD", "CMD-SHELL")
        times = [service["healthcheck"][key] for key in ("interval", "timeout")]
        assert all(DURATION.fullmatch(time) for time in times)
        for volume in service["volumes"]:
            source, target, *_ = volume.split(":")
            assert target.startswith("/") and (source in composition["volumes"] or source.startswith("./"))
        for other, condition in service.get("depends_on", {}).items():
            assert other in composition["services"] and condition == {"condition": "service_healthy"}


def test_the_hub_is_reached_from_this_machine_alone_and_can_do_little() -> None:
    hub = load_composition()["services"]["hub"]
    assert (
        all(port.startswith("127.0.0.1:") for port in hub["ports"])
        and "ports" not in load_composition()["services"]["db"]
    )
    assert hub["read_only"] is True and hub["cap_drop"] == ["ALL"] and "no-new-privileges:true" in hub["security_opt"]
    text = (ROOT / "compose.yml").read_text("utf-8")
    assert "${KB_DB_PASSWORD:?" in text and not re.search(r"PASSWORD: [^$]", text), "no password stands in the file"


def test_the_image_has_what_the_composition_asks_for() -> None:
    hub = load_composition()["services"]["hub"]
    docker = (ROOT / "Dockerfile").read_text("utf-8")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert hub["build"]["args"]["EXTRAS"] in extras and "ARG EXTRAS" in docker
    assert "install -d -o kb -g kb /data" in docker, "a new volume belongs to whom the folder belongs to"
    assert any(volume.endswith(":/data") for volume in hub["volumes"])
    assert [*shlex.split("kb"), *hub["command"]][:3] == ["kb", "hub", "serve"] and 'ENTRYPOINT ["kb"]' in docker


def test_the_settings_to_begin_with_can_be_read() -> None:
    values = tomllib.loads((ROOT / "docs/hub.example.toml").read_text("utf-8"))
    tables = {key: value for key, value in values.items() if key in DoorSettings._fields}
    names = [one["name"] for one in values["repository"]]
    found = read_door_settings(tables, names, "hub.toml")
    assert found.has_identity and found.server.url == "http://localhost:8740"
    lines = (ROOT / "docs/hub.example.toml").read_text("utf-8").splitlines()
    offered = "\n".join(line.removeprefix("# ") for line in lines if re.match(r"# (\[\w+\]|\w+ = )", line))
    tables = {key: value for key, value in tomllib.loads(offered).items() if key in DoorSettings._fields}
    assert set(tables) == {"identity", "write"}
    assert read_door_settings(tables, names, "hub.toml").identity.issuer.startswith("https://")


def test_every_test_that_the_threats_name_is_there() -> None:
    page = (ROOT / "docs/trust.md").read_text("utf-8")
    named = set(re.findall(r"`(test_\w+)`", page))
    there = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"(?m)^def (test_\w+)", path.read_text("utf-8"))
    }
    assert len(named) >= 15 and named <= there
