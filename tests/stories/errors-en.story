% en: what goes wrong is said in words, with the next step
$ kb lst
$ kb list --colour
$ kb list --kind novel
$ kb list --status done
$ kb list --since yesteryear
$ kb search
$ kb show D404
$ kb show
$ kb log D404
$ kb review show D404
$ kb inbox show 12
$ kb session load nothing
$ kb write --kind decision --title "Use a claim" --claim nonsense
$ kb write --kind decision --title "Climb out of the folder" --decision "Nothing may be written above" --why "Safety of all" --scope project/../../etc --area security
$ kb --kb /nowhere list
$ KB_HOME=/nowhere kb list
$ echo 'langage = "en"' >> kb.toml
$ kb list
