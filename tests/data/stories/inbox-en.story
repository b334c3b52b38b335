% en: what the gate keeps back

$ kb inbox
2> nothing is held

$ kb write --kind decision --title "Paint the settings button blue" --decision "The button on the settings page is blue" --why "The designer likes it" --session s1
held      Paint the settings button blue
2>           below the gate: neither repeated, nor of large impact, nor reusable
2>           → say why it matters: --area architecture|security|performance|compliance|modules, --reusable or --affects-future yes; or wait until 1 more session(s) report it
? 3

$ kb write --kind decision --title "Sort the imports by hand" --decision "Imports are sorted by hand" --why "Habit of the team" --session s1
held      Sort the imports by hand
2>           below the gate: neither repeated, nor of large impact, nor reusable
2>           → say why it matters: --area architecture|security|performance|compliance|modules, --reusable or --affects-future yes; or wait until 1 more session(s) report it
? 3

$ kb inbox
1efbe7f76a6c  ×1  Decision: Paint the settings button blue  (global)
378e79ca2485  ×1  Decision: Sort the imports by hand  (global)

$ kb inbox list --json
[
  {
    "name": "1efbe7f76a6c",
    "candidate": {
      "kind": "decision",
      "title": "Paint the settings button blue",
      "decision": "The button on the settings page is blue",
      "alternatives": "",
      "why": "The designer likes it",
      "impact": [],
      "verification": "",
      "rollback": "",
      "sections": {},
      "fields": {},
      "tags": [],
      "scope": "global",
      "impact_areas": [],
      "claims": {},
      "coexists_with": {},
      "reusable": null,
      "affects_future": null,
      "reference_value": null,
      "prevents_repeat": null,
      "confidence": null,
      "cost": null,
      "evidence": [],
      "supersedes": [],
      "amends": [],
      "updates": "",
      "session": "s1",
      "host": "cli"
    },
    "sightings": [
      {
        "day": "<today>",
        "host": "cli",
        "session": "s1"
      }
    ],
    "reasons": [
      "below the gate: neither repeated, nor of large impact, nor reusable"
    ]
  },
  {
    "name": "378e79ca2485",
    "candidate": {
      "kind": "decision",
      "title": "Sort the imports by hand",
      "decision": "Imports are sorted by hand",
      "alternatives": "",
      "why": "Habit of the team",
      "impact": [],
      "verification": "",
      "rollback": "",
      "sections": {},
      "fields": {},
      "tags": [],
      "scope": "global",
      "impact_areas": [],
      "claims": {},
      "coexists_with": {},
      "reusable": null,
      "affects_future": null,
      "reference_value": null,
      "prevents_repeat": null,
      "confidence": null,
      "cost": null,
      "evidence": [],
      "supersedes": [],
      "amends": [],
      "updates": "",
      "session": "s1",
      "host": "cli"
    },
    "sightings": [
      {
        "day": "<today>",
        "host": "cli",
        "session": "s1"
      }
    ],
    "reasons": [
      "below the gate: neither repeated, nor of large impact, nor reusable"
    ]
  }
]

% It lives in a ref of its own: the checkout does not change.
$ git status --short

$ git log --format=%s
Make a knowledge base

$ kb inbox show 5
2> kb: nothing, or more than one thing, is held as 5
2>     → see: kb inbox
? 1

$ kb inbox promote nothing
2> kb: nothing, or more than one thing, is held as nothing
2>     → see: kb inbox
? 1

$ kb inbox drop zzz
2> kb: nothing, or more than one thing, is held as zzz
2>     → see: kb inbox
? 1
