% en: what a program reads

$ kb write --kind decision --title "Use PostgreSQL for orders" --decision "Orders live in PostgreSQL, see [D009]" --why "It has transactions and we run it already" --area architecture --session s1 --json
[
  {
    "verdict": "created",
    "title": "Use PostgreSQL for orders",
    "kind": "decision",
    "id": "D001",
    "uid": "<uid>",
    "scope": "global",
    "path": "content/anchors/global/D001-use-postgresql-for-orders.md",
    "status": "proposed",
    "reasons": [
      "not given: alternatives, impact, verification, rollback",
      "large impact: architecture"
    ],
    "next": "complete it: kb write --updates D001 --alternatives \"…\" --impact PATH --verification \"…\" --rollback \"…\"",
    "similar": [],
    "branch": "",
    "commit": "<commit>",
    "spooled": false
  }
]

$ kb write --kind decision --title "Paint the settings button blue" --decision "The button on the settings page is blue" --why "The designer likes it" --session s1 --json
[
  {
    "verdict": "held",
    "title": "Paint the settings button blue",
    "kind": "decision",
    "id": "1efbe7f76a6c",
    "uid": "",
    "scope": "global",
    "path": "",
    "status": "",
    "reasons": [
      "below the gate: neither repeated, nor of large impact, nor reusable"
    ],
    "next": "say why it matters: --area architecture|security|performance|compliance|modules, --reusable or --affects-future yes; or wait until 1 more session(s) report it",
    "similar": [],
    "branch": "",
    "commit": "<commit>",
    "spooled": false
  }
]
? 3

$ kb write --kind decision --title "Use MongoDB for orders" --decision "Orders live in MongoDB" --why "The schema changes every single week" --area architecture --json
[
  {
    "verdict": "conflict",
    "title": "Use MongoDB for orders",
    "kind": "decision",
    "id": "D002",
    "uid": "<uid>",
    "scope": "global",
    "path": "content/anchors/global/D002-use-mongodb-for-orders.md",
    "status": "accepted",
    "reasons": [
      "“Use MongoDB for orders” chooses otherwise than “Use PostgreSQL for orders” in [D001]",
      "large impact: architecture",
      "not given: alternatives, impact, verification, rollback"
    ],
    "next": "decide it: kb review show D002",
    "similar": [
      {
        "id": "D001",
        "scope": "global",
        "title": "Use PostgreSQL for orders",
        "score": 0.571
      }
    ],
    "branch": "kb/review/D002-use-mongodb-for-orders",
    "commit": "<commit>",
    "spooled": false
  }
]
? 4

$ kb list --json
[
  {
    "id": "D001",
    "kind": "decision",
    "title": "Use PostgreSQL for orders",
    "scope": "global",
    "status": "proposed",
    "uid": "<uid>",
    "date": "<today>",
    "tags": [],
    "impact": [],
    "supersedes": [],
    "amends": [],
    "coexists_with": {},
    "claims": {},
    "occurrences": 1,
    "sources": [
      "cli/s1"
    ],
    "confirmed": "",
    "extra": {},
    "sections": [
      {
        "name": "decision",
        "heading": "Decision",
        "text": "Orders live in PostgreSQL, see [D009]"
      },
      {
        "name": "why",
        "heading": "Why",
        "text": "It has transactions and we run it already"
      }
    ],
    "user": "",
    "path": "content/anchors/global/D001-use-postgresql-for-orders.md"
  }
]

$ kb show D001 --json
{
  "id": "D001",
  "kind": "decision",
  "title": "Use PostgreSQL for orders",
  "scope": "global",
  "status": "proposed",
  "uid": "<uid>",
  "date": "<today>",
  "tags": [],
  "impact": [],
  "supersedes": [],
  "amends": [],
  "coexists_with": {},
  "claims": {},
  "occurrences": 1,
  "sources": [
    "cli/s1"
  ],
  "confirmed": "",
  "extra": {},
  "sections": [
    {
      "name": "decision",
      "heading": "Decision",
      "text": "Orders live in PostgreSQL, see [D009]"
    },
    {
      "name": "why",
      "heading": "Why",
      "text": "It has transactions and we run it already"
    }
  ],
  "user": "",
  "path": "content/anchors/global/D001-use-postgresql-for-orders.md",
  "karma": "wholesome"
}
2> an open review would change it: kb review show D002

$ kb search orders --json
[
  {
    "id": "D001",
    "kind": "decision",
    "title": "Use PostgreSQL for orders",
    "scope": "global",
    "status": "proposed",
    "uid": "<uid>",
    "date": "<today>",
    "tags": [],
    "impact": [],
    "supersedes": [],
    "amends": [],
    "coexists_with": {},
    "claims": {},
    "occurrences": 1,
    "sources": [
      "cli/s1"
    ],
    "confirmed": "",
    "extra": {},
    "sections": [
      {
        "name": "decision",
        "heading": "Decision",
        "text": "Orders live in PostgreSQL, see [D009]"
      },
      {
        "name": "why",
        "heading": "Why",
        "text": "It has transactions and we run it already"
      }
    ],
    "user": "",
    "path": "content/anchors/global/D001-use-postgresql-for-orders.md",
    "score": 1.32,
    "snippet": "«Orders» live in PostgreSQL, see [D009] It has transactions and we run it already",
    "note": ""
  }
]

$ kb log D001 --json
[
  {
    "commit": "<commit>",
    "time": "<time>",
    "author": "A Tester",
    "subject": "Add [D001] Use PostgreSQL for orders",
    "operation": "created",
    "reason": ""
  }
]

$ kb refs D001 --json
[
  {
    "relation": "cites",
    "outward": true,
    "name": "D009",
    "title": "",
    "line": 1
  }
]

$ kb history D001 --json
[
  {
    "stage": "seeded",
    "time": "<time>",
    "cause": "Add [D001] Use PostgreSQL for orders",
    "commit": "<commit>",
    "author": "A Tester"
  },
  {
    "stage": "dormant",
    "time": "<time>",
    "cause": "until a task needs it",
    "commit": "<commit>",
    "author": "A Tester"
  }
]

$ kb inbox --json
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
  }
]

$ kb review --json
[
  {
    "branch": "kb/review/D002-use-mongodb-for-orders",
    "tip": "<commit>",
    "path": "content/anchors/global/D002-use-mongodb-for-orders.md",
    "since": "<time>",
    "record": {
      "id": "D002",
      "kind": "decision",
      "title": "Use MongoDB for orders",
      "scope": "global",
      "status": "accepted",
      "uid": "<uid>",
      "date": "<today>",
      "tags": [],
      "impact": [],
      "supersedes": [
        "D001"
      ],
      "amends": [],
      "coexists_with": {},
      "claims": {},
      "occurrences": 1,
      "sources": [],
      "confirmed": "",
      "extra": {},
      "sections": [
        {
          "name": "decision",
          "heading": "Decision",
          "text": "Orders live in MongoDB"
        },
        {
          "name": "why",
          "heading": "Why",
          "text": "The schema changes every single week"
        }
      ],
      "user": "",
      "path": "content/anchors/global/D002-use-mongodb-for-orders.md"
    },
    "against": [
      "D001"
    ],
    "host": "cli",
    "session": "",
    "standing": ""
  }
]

$ kb hint t2 -k orders --json
{
  "text": "## [T2] Before you design\n\n📜 **Earlier decisions**:\n| ID | Decision | Why |\n|----|------|------|\n| [D001] | Use PostgreSQL for orders (⚠️ unverified) | It has transactions and we run it already |\n\n---\n> For reference only; the decision is yours",
  "ids": [
    "D001"
  ],
  "warnings": []
}

$ kb alaya seeds --json
{
  "D Decision": [
    {
      "id": "D001",
      "kind": "decision",
      "title": "Use PostgreSQL for orders",
      "scope": "global",
      "status": "proposed",
      "uid": "<uid>",
      "date": "<today>",
      "tags": [],
      "impact": [],
      "supersedes": [],
      "amends": [],
      "coexists_with": {},
      "claims": {},
      "occurrences": 1,
      "sources": [
        "cli/s1"
      ],
      "confirmed": "",
      "extra": {},
      "sections": [
        {
          "name": "decision",
          "heading": "Decision",
          "text": "Orders live in PostgreSQL, see [D009]"
        },
        {
          "name": "why",
          "heading": "Why",
          "text": "It has transactions and we run it already"
        }
      ],
      "user": "",
      "path": "content/anchors/global/D001-use-postgresql-for-orders.md",
      "karma": "D Decision"
    }
  ]
}

$ kb confirm D001 --json
[
  {
    "verdict": "updated",
    "title": "Use PostgreSQL for orders",
    "kind": "decision",
    "id": "D001",
    "uid": "<uid>",
    "scope": "global",
    "path": "content/anchors/global/D001-use-postgresql-for-orders.md",
    "status": "proposed",
    "reasons": [
      "confirmed"
    ],
    "next": "",
    "similar": [],
    "branch": "",
    "commit": "",
    "spooled": false
  }
]

$ kb write --schema | python3 -c "import json, sys; print(json.load(sys.stdin)['required'])"
['kind', 'title']
