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
$ cat candidates.json | kb write -
$ cat candidates.json | kb write - --json --dry-run
% Claims contradict for certain.
$ echo '{"kind": "decision", "title": "Keep sessions in Memcached", "decision": "Sessions are cached in Memcached", "why": "It is simpler", "impact_areas": ["architecture"], "claims": {"cache.session": "Memcached"}}' | kb write -
% What is not of the form is refused as a whole, before anything is written.
$ echo '[{"kind": "decision", "title": "A good one"}, {"kind": "novel", "title": "Not a kind"}]' | kb write -
$ echo '{"kind": "decision", "title": 7}' | kb write -
$ echo '{"kind": "decision", "title": "Use NaN", "confidence": NaN}' | kb write -
$ echo '{"kind": "decision", "title": ' | kb write -
$ printf '' | kb write -
$ kb write missing.json
$ kb write candidates.json --title "And another"
$ kb write
