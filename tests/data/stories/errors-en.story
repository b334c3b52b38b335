% en: what goes wrong is said in words, with the next step

$ kb lst
2> kb: there is no command lst
2>     → did you mean: kb list
? 2

$ kb list --colour
2> kb: there is no option --colour
2>     → did you mean: --count
? 2

$ kb list --kind novel
2> kb: there is no kind novel; there are: decision, constraint, interface, pitfall, pattern, preference, checklist, domain-note, learning
2>     → see: kb list --help
? 2

$ kb list --status done
2> kb: --status must be one of: proposed, accepted, rejected, deprecated, superseded
2>     → see: kb list --help
? 2

$ kb list --since yesteryear
2> kb: yesteryear is not a day
2>     → use today, yesterday, week, 7d or 2026-11-21
? 1

$ kb search
2> kb: give words to look for, or a filter
2>     → see: kb search --help
? 2

$ kb list --scope nonsense
2> kb: there is no scope nonsense: it is global or project/<name>
2>     → see: kb list --help
? 2

$ kb search orders --scope project/none
2> no record is in project/none; which scopes there are: kb list

$ kb show D404
2> kb: there is no record D404
2>     → see: kb list
? 1

$ kb show
2> kb: ID is missing
2>     → see: kb show --help
? 2

$ kb log D404
2> kb: there is no record D404
2>     → see: kb list
? 1

$ kb review show D404
2> kb: there is no open review D404
2>     → see: kb review
? 1

$ kb inbox show 12
2> kb: nothing, or more than one thing, is held as 12
2>     → see: kb inbox
? 1

$ kb session load nothing
2> kb: there is no session nothing
2>     → see: kb session list --all
? 1

$ kb write --kind decision --title "Use a claim" --claim nonsense
2> kb: “nonsense” is not of the form KEY=VALUE
2>     → see: kb write --help
? 2

$ kb write --kind decision --title "Climb out of the folder" --decision "Nothing may be written above" --why "Safety of all" --scope project/../../etc --area security
2> kb: the options: the field scope must be global | project/<name>
2>     → the form of a candidate: kb write --schema
? 1

$ kb --kb /nowhere list
2> kb: /nowhere is not a knowledge base
2>     → make one: kb init /nowhere
? 1

$ KB_HOME=/nowhere kb list
2> kb: $KB_HOME names /nowhere, which is not a knowledge base
2>     → make one: kb init /nowhere
? 1

$ echo 'langage = "en"' >> kb.toml

$ kb list
2> kb: <dir>/kb.toml: there is no setting langage
2>     → see: kb config
? 1
