"""Reads the JSON of `qsim run` from stdin and prints where the network spends its cycles."""
import json
import sys

run = json.load(sys.stdin)
assert run["schema"] == "qsim.run/2", run["schema"]

total = run["total"]
print(f"{run['config']['name']}: {total['cycles']:,} cycles, {total['utilization']:.1%} of the array's work useful")
for layer in sorted(run["layers"], key=lambda layer: -layer["cycles"]):
    # In PE-cycles, by part (docs/reference/stats.md); the parts add up to all PEs in all of the layer's cycles.
    parts = layer["array_time_pe_cycles"]
    lost = {part: pe_cycles / sum(parts.values()) for part, pe_cycles in parts.items() if part != "useful"}
    most = max(lost, key=lost.get, default=None)
    reason = f"lost most to {most} ({lost[most]:.1%})" if most else "nothing lost"
    print(f"  {layer['name']:8} {layer['cycles'] / total['cycles']:6.1%} of the time, "
          f"utilization {layer['utilization']:6.1%}, {reason}")

best = run["output"]["top"][0]
print(f"the picture is a {best['label']} ({best['probability']:.1%})")
if run["verify"]["mismatches"] != 0:
    sys.exit(f"{run['verify']['mismatches']} values differ from the golden")
print(f"{run['verify']['values']:,} values compared with the golden, 0 mismatches")
