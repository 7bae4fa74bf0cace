// Package kubectl runs scripts of stock kubectl commands against a server.
//
// Each testdata/*.txtar is one area of what clients expect, told as commands
// and what they print. A script has a namespace named after its file, which is
// the default of its kubeconfig, and an empty home directory. All scripts share
// one server and run side by side, so objects without a namespace carry the
// name of the script that makes them.
//
// The kubectl is the one on PATH. Where there is none, the test binary itself
// acts as kubectl, from k8s.io/kubectl. holdfast is the test binary as well, for
// scripts that need a server of their own.
//
// Beside testscript's own, scripts have these commands:
//
//	[!] kubectl ARGS...              run kubectl in the foreground (exec kubectl ARGS... & in the background)
//	eventually PATTERN kubectl ARGS  run it until it succeeds and its output matches
//	table FILE                       compare the last output with a table; ages may differ, and the width of columns
//	includes FILE                    every line of FILE is in the last output; the width of columns may differ
//	server DIR [FEATURE=BOOL...]     start another server, with features switched, and have kubectl speak to it
//	typed-put NAME                   read a CustomResourceDefinition with upstream's Go client and write it back
//	webhook                          start a webhook, found in WEBHOOK_URL and WEBHOOK_CA
package kubectl
