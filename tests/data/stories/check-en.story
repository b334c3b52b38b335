% en: check the records, and mend what can be mended

$ kb write --kind decision --title "Use PostgreSQL for orders" --decision "Orders live in PostgreSQL, unlike [D044]" --why "It has transactions and we run it already" --area architecture
created   [D001] Use PostgreSQL for orders  content/anchors/global/D001-use-postgresql-for-orders.md
2>           not given: alternatives, impact, verification, rollback
2>           large impact: architecture
2>           → complete it: kb write --updates D001 --alternatives "…" --impact PATH --verification "…" --rollback "…"

$ kb check
content/anchors/global/D001-use-postgresql-for-orders.md:15: error: [D044] names no record [citation]
    → correct the id; if it is no citation, write it in code marks: `[D044]`
2> records: 1; errors: 1, warnings: 0, in files: 1
? 1

$ kb check --json
[
  {
    "rule": "citation",
    "severity": "error",
    "path": "content/anchors/global/D001-use-postgresql-for-orders.md",
    "line": 15,
    "message": "[D044] names no record",
    "fix": "correct the id; if it is no citation, write it in code marks: `[D044]`",
    "fixable": false
  }
]
? 1

$ kb check --format github
::error file=content/anchors/global/D001-use-postgresql-for-orders.md,line=15,title=kb%3A citation::[D044] names no record%0A→ correct the id; if it is no citation, write it in code marks: `[D044]`
? 1

% A record written by hand, without a uid.
$ cat > content/anchors/global/C001-every-message-is-redacted.md <<END
> ---
> id: C001
> kind: constraint
> title: Every message is redacted
> status: proposed
> scope: global
> date: 2026-11-01
> ---
> <!-- MACHINE_BLOCK_START -->
> # [C001] Every message is redacted
>
> ## Decision
>
> A message passes the sanitiser.
> <!-- MACHINE_BLOCK_END -->
>
> <!-- USER_BLOCK_START -->
>
> <!-- USER_BLOCK_END -->
> END

$ kb check content/anchors/global/C001-every-message-is-redacted.md
content/anchors/global/C001-every-message-is-redacted.md:2: error: there is no uid, so the record would not survive a new number [uid]
    → let kb add one: kb check --fix
2> records: 2; errors: 1, warnings: 0, in files: 1; fixable by kb check --fix: 1
? 1

$ kb check --fix content/anchors/global/C001-every-message-is-redacted.md
2> records: 2; no problems found

$ git status --short
?? content/anchors/global/C001-every-message-is-redacted.md

$ kb check nowhere.md
2> kb: nowhere.md: there is no such file or folder
? 1

$ kb check /
2> kb: /: it is not in the knowledge base <dir>
? 1

% Conflict markers and half a file are named; the others go on.
$ printf -- '---\nid: P001\nkind: pitfall\ntitle: "Half a fi' > content/anchors/global/P001-half.md

$ printf -- '---\nid: P002\nkind: pitfall\ntitle: Two sides of one file\n<<<<<<< HEAD\nstatus: proposed\n=======\nstatus: accepted\n>>>>>>> theirs\n---\n' > content/anchors/global/P002-two.md

$ kb check content/anchors/global/P001-half.md content/anchors/global/P002-two.md
content/anchors/global/P001-half.md:1: error: the frontmatter is never closed [frontmatter]
    → end it with a line ---
content/anchors/global/P002-two.md:5: error: the file contains git conflict markers [conflict-markers]
    → resolve the merge, then: git add content/anchors/global/P002-two.md
2> records: 2; errors: 2, warnings: 0, in files: 2
? 1

$ kb list
C001   ⚠️ proposed  Every message is redacted  (global)
D001   ⚠️ proposed  Use PostgreSQL for orders  (global)
2> kb: content/anchors/global/P001-half.md:1: the frontmatter is never closed
2> kb: content/anchors/global/P002-two.md:5: the file contains git conflict markers
2>     → left out until it is fixed; see: kb check

$ kb search orders
D001   Use PostgreSQL for orders  (global)
       «Orders» live in PostgreSQL, unlike [D044] It has transactions and we run it already
2> kb: content/anchors/global/P001-half.md:1: the frontmatter is never closed
2> kb: content/anchors/global/P002-two.md:5: the file contains git conflict markers
2>     → left out until it is fixed; see: kb check

$ kb show P001
2> kb: content/anchors/global/P001-half.md:1: the frontmatter is never closed
2>     → fix the file by hand; see: kb check
? 1

$ kb write --kind decision --title "Keep invoices for ten years" --decision "Invoices are kept for ten years" --why "The law" --area compliance
created   [D002] Keep invoices for ten years  content/anchors/global/D002-keep-invoices-for-ten-years.md
2> kb: content/anchors/global/P001-half.md:1: the frontmatter is never closed
2> kb: content/anchors/global/P002-two.md:5: the file contains git conflict markers
2>     → left out until it is fixed; see: kb check
2>           not given: alternatives, impact, verification, rollback
2>           large impact: compliance
2>           → complete it: kb write --updates D002 --alternatives "…" --impact PATH --verification "…" --rollback "…"
