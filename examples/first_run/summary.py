"""Reads the JSON of `qsim run` from stdin and prints where the network spends its cycles."""
import json
import sys

run = json.load(sys.stdin)
assert run["schema"] == "qsim.run/3", run["schema"]

total = run["total"]
print(f"{run['config']['name']}: {total['cycles']:,} cycles, {total['utilization']:.1%} of the array's work useful")
for layer in sorted(run["layers"], key=lambda layer: -layer["cycles"]):
    # The unit with the largest share of the layer's critical path (docs/reference/output.md).
    limit = f"limited by {layer['limited_by'].replace('_', ' ')} ({layer['limiter_busy']:.1%})"
    print(f"  {layer['name']:8} {layer['cycles'] / total['cycles']:6.1%} of the time, "
          f"utilization {layer['utilization']:6.1%}, {limit}")

best = run["output"]["top"][0]
print(f"the picture is a {best['label']} ({best['probability']:.1%})")
if run["verify"]["mismatches"] != 0:
    sys.exit(f"{run['verify']['mismatches']} values differ from the golden")
print(f"{run['verify']['values']:,} values compared with the golden, 0 mismatches")
