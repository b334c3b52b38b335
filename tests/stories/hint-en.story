% en: what an agent is told before it starts, and after its plan is fixed
$ kb hint t1 -k API
$ kb write --kind pitfall --title "The payment API times out under load" --decision "Calls to the payment API take over a minute at noon" --why "Its rate limit is per account" --area performance
$ kb write --kind constraint --title "Every API answer is redacted" --decision "An answer of the API passes the sanitiser" --why "Compliance" --area compliance
$ kb write --kind pattern --title "Retry API calls with a growing pause" --decision "Failed API calls are tried again after 1, 2, 4 seconds" --why "Most failures are short" --area modules
$ kb write --kind decision --title "Version the API in its path" --decision "The API has its version in the path" --alternatives "A header" --why "Caches understand it" --impact src/api/ --verification "make test-api" --rollback "Serve both for a year" --area architecture
$ kb hint t1 -k API
$ kb hint t2 -k API
$ kb hint avatar --avatar ear --task "Understand what the API is for"
$ kb spawn --avatar body --task "Write the API client"
$ kb hint t3
