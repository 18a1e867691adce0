"""What a measurement depends on besides the code: the machine, and the tools that made the program.
Nothing of it names a host, a user or a path."""
import json
import os
import pathlib
import re
import subprocess

# The flags of a processor that choose a kernel or its speed.
VECTOR_FLAGS = ("sse4_2", "avx", "avx2", "avx_vnni", "avx512f", "avx512bw", "avx512vl",
                "avx512_vnni", "amx_int8", "asimd", "asimddp", "i8mm")
VERSIONS = ("version", "build_type", "compiler", "systemc", "protobuf", "golden_vector_path", "engines")
KIND_FIELDS = ("cpu", "cores", "vector_instructions")
BUILD_FIELDS = ("compiler", "build_type")


def cpuinfo():
    """Field to value of the first processor of /proc/cpuinfo."""
    first = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf8").split("\n\n", maxsplit=1)[0]
    return dict(re.findall(r"^([^\t:]+?)\s*: ?(.*)$", first, re.M))


def cpu_name(info):
    name = info.get("model name", "unknown")
    numbers = [f"{word} {info[key]}" for word, key in
               (("family", "cpu family"), ("model", "model")) if key in info]
    return ", ".join([name, *numbers])


def vector_instructions():
    info = cpuinfo()
    flags = info.get("flags", info.get("Features", "")).split()
    return [flag for flag in VECTOR_FLAGS if flag in flags]


def memory_gib():
    page = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return round(page / 2**30)


def doctor(qsim):
    """What `qsim doctor` says of itself; {} where it does not run."""
    try:
        done = subprocess.run([qsim, "doctor", "--json", "-", "--quiet"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, timeout=60, check=False)
        return json.loads(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return {}


def describe(qsim):
    """The `machine` of a results file."""
    said = doctor(qsim)
    return {"cpu": cpu_name(cpuinfo()), "cores": len(os.sched_getaffinity(0)),
            "vector_instructions": vector_instructions(), "memory_gib": memory_gib(),
            "system": debian_name(), **{key: said[key] for key in VERSIONS if key in said}}


def debian_name():
    try:
        text = pathlib.Path("/etc/os-release").read_text(encoding="utf8")
    except OSError:
        return "unknown"
    found = re.search(r'^PRETTY_NAME="?([^"\n]*)', text, re.M)
    return found.group(1) if found else "unknown"


def commit(root):
    """(commit, whether tracked files differ from it); of a folder that git does not know, unknown."""
    def git(*arguments):
        return subprocess.run(["git", "-C", root, *arguments], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, check=True, encoding="utf8").stdout.strip()
    try:
        return git("rev-parse", "HEAD"), bool(git("status", "--porcelain", "--untracked-files=no"))
    except (OSError, subprocess.CalledProcessError):
        return "unknown", True


def same_kind(one, other):
    return all(one.get(field) == other.get(field) for field in KIND_FIELDS)


def same_build(one, other):
    return all(one.get(field) == other.get(field) for field in BUILD_FIELDS)


def build_text(machine):
    return ", ".join(machine.get(field, "unknown") for field in BUILD_FIELDS)


def kind_text(machine):
    vectors = machine.get("vector_instructions") or ["none"]
    return f"{machine.get('cpu')}, {machine.get('cores')} cores, {vectors[-1]}"
