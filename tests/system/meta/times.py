"""Takes out of a text how long something took on this machine, and nothing else: simulated times are
results and stay."""
import re

# In text: "took 1.6 ms", and the table rows "seconds  678.5 us" and "pictures per second  1,473".
TOOK = re.compile(r"\b(took|seconds|pictures per second)( +)[-+.,0-9e]+(?: ?(?:ns|us|ms|s|min)\b)?")
# In JSON: under one of these keys.
KEYS = re.compile(r'"(?!simulated_seconds")(seconds|[a-z_]*_seconds|import|compile|simulate|golden|compare|'
                  r'pictures_per_second)": [-+.0-9e]+')
# The seconds of each step (qsim quantize).
STEPS = re.compile(r'"seconds": \{[^{}]*\}')


def without_times(text):
    """The text with TIME for each of them."""
    return TOOK.sub(r"\1\2TIME", KEYS.sub(r'"\1": TIME', STEPS.sub('"seconds": TIME', text)))


def without_progress(stderr):
    """What a command says beside lines of progress, which come only where it takes over a second."""
    return "".join(line for line in stderr.splitlines(keepends=True)
                   if not re.match(r"qsim: (?!error: |note: )", line))
