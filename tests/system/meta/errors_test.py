#!/usr/bin/env python3
"""Every message that the sources can throw is in docs/reference/errors.md.

usage: errors_test.py REPOSITORY_ROOT
A throwing call's literal text must be in one row, in its order; a message with few words of its own must
fit a row from end to end. One that has none, or fits too many rows to say anything, must be in
message_parts.py. (That each row is real, and is met by a test with its exit code, is checked after the
tests: provoked.py.)
"""
import collections
import sys

import cpp_messages
import errors_page
import message_parts

# A message that fits more rows than this is no message but a way to make one.
MANY_ROWS = 12


def undocumented(sites, rows, parts):
    """Faults: sites that no row has, less those of `parts`, whose numbers must be right."""
    allowed = collections.Counter()
    for listed in parts.values():
        allowed.update(listed)
    faults = []
    for site in sites:
        fitting = sum(site.stands_on(row) for row in rows)
        if 1 <= fitting <= MANY_ROWS:
            continue
        key = (site.where.rsplit(":", 1)[0], site.pattern)
        allowed[key] -= 1
        if allowed[key] < 0:
            why = f"fits {fitting} rows of" if fitting else "not in"
            faults.append(f"{site.where}: {why} {errors_page.PAGE}, nor in message_parts.py: {site.pattern!r}")
    faults += [f"message_parts.py: {key} is thrown {count} times less" for key, count in allowed.items() if count > 0]
    return faults


def main():
    root = sys.argv[1]
    rows = errors_page.rows(root)
    sites = list(cpp_messages.sites(root))
    missing = undocumented(sites, rows, message_parts.PARTS)
    print("\n".join(missing))
    seen = {}
    for row in rows:
        if row.text in seen:
            print(f"{row.where}: is in {seen[row.text]} as well")
            missing.append(row)
        seen[row.text] = row.where
    if len(sites) < 250:
        print(f"only {len(sites)} throwing calls found; cpp_messages.py reads the sources no more")
        missing.append(None)
    print(f"{len(sites)} throwing calls, {len(rows)} documented messages, {len(missing)} faults")
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
