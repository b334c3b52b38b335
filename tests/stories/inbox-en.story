% en: what the gate keeps back
$ kb inbox
$ kb write --kind decision --title "Paint the settings button blue" --decision "The button on the settings page is blue" --why "The designer likes it" --session s1
$ kb write --kind decision --title "Sort the imports by hand" --decision "Imports are sorted by hand" --why "Habit of the team" --session s1
$ kb inbox
$ kb inbox list --json
% It lives in a ref of its own: the checkout does not change.
$ git status --short
$ git log --format=%s
$ kb inbox show 5
$ kb inbox promote nothing
$ kb inbox drop zzz
