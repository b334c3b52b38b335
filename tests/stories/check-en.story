% en: check the records, and mend what can be mended
$ kb write --kind decision --title "Use PostgreSQL for orders" --decision "Orders live in PostgreSQL, unlike [D044]" --why "It has transactions and we run it already" --area architecture
$ kb check
$ kb check --json
$ kb check --format github
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
$ kb check --fix content/anchors/global/C001-every-message-is-redacted.md
$ git status --short
$ kb check nowhere.md
$ kb check /
% Conflict markers and half a file are named; the others go on.
$ printf -- '---\nid: P001\nkind: pitfall\ntitle: "Half a fi' > content/anchors/global/P001-half.md
$ printf -- '---\nid: P002\nkind: pitfall\ntitle: Two sides of one file\n<<<<<<< HEAD\nstatus: proposed\n=======\nstatus: accepted\n>>>>>>> theirs\n---\n' > content/anchors/global/P002-two.md
$ kb check content/anchors/global/P001-half.md content/anchors/global/P002-two.md
$ kb list
$ kb search orders
$ kb show P001
$ kb write --kind decision --title "Keep invoices for ten years" --decision "Invoices are kept for ten years" --why "The law" --area compliance
