// Package kubectl runs scripts of stock kubectl commands against a server, and the commands of
// the documents.
//
// Each testdata/*.txtar is a script for one area, with commands and their
// expected output. The scripts in testdata/guarded use our own commands against
// a server that does not check ownership. A script has a namespace with the name
// of its file, which is the default namespace of its kubeconfig, and an empty
// home directory. All scripts of a directory share one server and run in
// parallel, so objects without a namespace have the name of their script.
//
// The tests use the kubectl on PATH. If there is none, the test binary itself
// acts as kubectl, from k8s.io/kubectl. The command holdfast is the test binary
// too.
//
// In addition to testscript's commands, scripts have these:
//
//	[!] kubectl ARGS...              run kubectl in the foreground (exec kubectl ARGS... & in the background)
//	[!] holdfast ARGS...             run holdfast in the foreground
//	eventually PATTERN COMMAND ARGS  run the command until its output, or the error of a failure, matches
//	table FILE                       compare the last output with a table, except for ages and the width of columns
//	includes FILE                    every line of FILE is in the last output, except for the width of columns
//	kubelet NAME                     create a Node and serve the API of its kubelet: logs, exec, attach and port-forward
//	server DIR [--operators=false] [FEATURE=BOOL...]
//	                                 start another server with these feature gates, and use it from now on
//	typed-put NAME                   read a CustomResourceDefinition with the Go client of Kubernetes and write it back
//	webhook                          start a webhook, with its address in WEBHOOK_URL and its CA in WEBHOOK_CA
package kubectl
