% en: any tool hands in JSON

$ cat > candidates.json <<END
> [
>   {"kind": "decision", "title": "Use Redis for the session cache", "decision": "Sessions are cached in Redis",
>    "why": "They expire by themselves", "impact_areas": ["architecture"], "claims": {"cache.session": "Redis"},
>    "tags": ["cache"], "session": "s1", "host": "my-extractor"},
>   {"kind": "U", "title": "Answer in Chinese", "decision": "Explanations are written in Chinese", "reusable": true}
> ]
> END

$ kb write candidates.json
created   [D001] Use Redis for the session cache  content/anchors/global/D001-use-redis-for-the-session-cache.md
created   [U001] Answer in Chinese  content/anchors/global/U001-answer-in-chinese.md
2>           not given: alternatives, impact, verification, rollback
2>           large impact: architecture
2>           large impact: performance (“cache”)
2>           → complete it: kb write --updates D001 --alternatives "…" --impact PATH --verification "…" --rollback "…"
2>           reusable: useful in other projects

$ cat candidates.json | kb write -
unchanged [D001] Use Redis for the session cache  content/anchors/global/D001-use-redis-for-the-session-cache.md
unchanged [U001] Answer in Chinese  content/anchors/global/U001-answer-in-chinese.md
2>           says the same as [D001], titles 1.00 alike
2>           says the same as [U001], titles 1.00 alike

$ cat candidates.json | kb write - --json --dry-run
[
  {
    "verdict": "unchanged",
    "title": "Use Redis for the session cache",
    "kind": "decision",
    "id": "D001",
    "uid": "<uid>",
    "scope": "global",
    "path": "content/anchors/global/D001-use-redis-for-the-session-cache.md",
    "status": "proposed",
    "reasons": [
      "says the same as [D001], titles 1.00 alike"
    ],
    "next": "",
    "similar": [
      {
        "id": "D001",
        "scope": "global",
        "title": "Use Redis for the session cache",
        "score": 1.0
      },
      {
        "id": "U001",
        "scope": "global",
        "title": "Answer in Chinese",
        "score": 0.256
      }
    ],
    "branch": "",
    "commit": "",
    "spooled": false
  },
  {
    "verdict": "unchanged",
    "title": "Answer in Chinese",
    "kind": "preference",
    "id": "U001",
    "uid": "<uid>",
    "scope": "global",
    "path": "content/anchors/global/U001-answer-in-chinese.md",
    "status": "accepted",
    "reasons": [
      "says the same as [U001], titles 1.00 alike"
    ],
    "next": "",
    "similar": [
      {
        "id": "U001",
        "scope": "global",
        "title": "Answer in Chinese",
        "score": 1.0
      },
      {
        "id": "D001",
        "scope": "global",
        "title": "Use Redis for the session cache",
        "score": 0.256
      }
    ],
    "branch": "",
    "commit": "",
    "spooled": false
  }
]

% Claims contradict for certain.
$ echo '{"kind": "decision", "title": "Keep sessions in Memcached", "decision": "Sessions are cached in Memcached", "why": "It is simpler", "impact_areas": ["architecture"], "claims": {"cache.session": "Memcached"}}' | kb write -
conflict  [D002] Keep sessions in Memcached  content/anchors/global/D002-keep-sessions-in-memcached.md
2>           [D001] claims cache.session = Redis; this claims Memcached
2>           large impact: architecture
2>           not given: alternatives, impact, verification, rollback
2>           ⎇ kb/review/D002-keep-sessions-in-memcached
2>           → decide it: kb review show D002
? 4

% What is not of the form is refused as a whole, before anything is written.
$ echo '[{"kind": "decision", "title": "A good one"}, {"kind": "novel", "title": "Not a kind"}]' | kb write -
2> kb: stdin[1]: there is no kind novel; there are: decision, constraint, interface, pitfall, pattern, preference, checklist, domain-note, learning
2>     → the form of a candidate: kb write --schema
? 1

$ echo '{"kind": "decision", "title": 7}' | kb write -
2> kb: stdin: the field title is missing or no text
2>     → the form of a candidate: kb write --schema
? 1

$ echo '{"kind": "decision", "title": "Be sure", "confidence": 7}' | kb write -
2> kb: stdin: the field confidence must be a number from 0 to 1, not 7
2>     → the form of a candidate: kb write --schema
? 1

$ echo '{"kind": "decision", "title": "Use NaN", "confidence": NaN}' | kb write -
2> kb: stdin: the field confidence must be a number from 0 to 1, not NaN
2>     → the form of a candidate: kb write --schema
? 1

$ echo '{"kind": "decision", "title": ' | kb write -
2> kb: stdin:2: not valid JSON: Expecting value
? 1

$ printf '' | kb write -
2> kb: stdin: the input is empty
2>     → the form of a candidate: kb write --schema
? 1

$ kb write missing.json
2> kb: missing.json: cannot be read: No such file or directory
? 1

$ kb write candidates.json --title "And another"
2> kb: give a file, - for stdin, or --kind and --title
2>     → see: kb write --help
? 2

$ kb write
2> kb: give a file, - for stdin, or --kind and --title
2>     → see: kb write --help
? 2
