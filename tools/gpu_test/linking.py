"""Programs of a Ninja build, linked once more for another machine.

A program is linked by the build's own command, stripped, and finds its libraries in ../lib beside it:
as DT_RPATH, which also holds for the libraries' own libraries.
"""
import pathlib
import re
import shlex
import shutil
import subprocess

# The C library, which must be the machine's own, and the GPU's driver.
SYSTEM_LIBRARIES = re.compile(r"^(ld-linux.*|lib(c|m|dl|rt|pthread|cuda))\.so")


def run(command, **options):
    """Runs it, and raises with its output when it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **options)
    if done.returncode != 0:
        shown = command if isinstance(command, str) else shlex.join(map(str, command))
        raise RuntimeError(f"{shown}\nexit {done.returncode}:\n{done.stdout}")
    return done.stdout


def link_command(build, target):
    """The build's words to link a target: without what the shell chains around them."""
    last = run(["ninja", "-C", build, "-t", "commands", target]).strip().splitlines()[-1]
    words = shlex.split(last)
    begin = words.index("&&") + 1 if "&&" in words else 0
    end = words.index("&&", begin) if "&&" in words[begin:] else len(words)
    return words[begin:end]


def link_again(build, target, output, replaced=None):
    """Links `target` into `output`; `replaced` maps words of the command to others."""
    words = [(replaced or {}).get(word, word) for word in link_command(build, target)]
    words[words.index("-o") + 1] = str(output)
    run([*words, "-s", "-Wl,--disable-new-dtags", "-Wl,-rpath,$ORIGIN/../lib"], cwd=build)


def libraries_of(binary):
    """(name, path) of the shared libraries that a binary needs from elsewhere."""
    found = []
    for line in run(["ldd", binary]).splitlines():
        name, arrow, path = line.strip().partition(" => ")
        if not arrow or SYSTEM_LIBRARIES.match(name):
            continue
        if path.startswith("not found"):
            raise RuntimeError(f"{binary} needs {name}, which is not found")
        found.append((name, pathlib.Path(path.split(" (")[0])))
    return found


def copy_libraries(binaries, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for binary in binaries:
        for name, path in libraries_of(binary):
            if (folder / name).exists():
                continue
            shutil.copyfile(path.resolve(), folder / name)
            run(["strip", "--strip-unneeded", folder / name])
