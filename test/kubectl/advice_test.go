package kubectl_test

import (
	"regexp"

	"github.com/rogpeppe/go-internal/testscript"
)

// advised matches the command that a warning advises to keep a change.
var advised = regexp.MustCompile("To keep (?:it|a field, here the first one): `([^`]+)`")

// runAdvice is the script command advice. It runs the command that a warning in stderr
// advises, as a user does who copies it into a shell.
func runAdvice(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: advice")
	}
	match := advised.FindStringSubmatch(ts.ReadFile("stderr"))
	if match == nil {
		ts.Fatalf("stderr advises no command")
	}
	if err := ts.Exec("sh", "-c", match[1]); err != nil {
		ts.Fatalf("%s: %v", match[1], err)
	}
	if output := ts.ReadFile("stdout"); !regexp.MustCompile(` transferred to imperative\n$`).MatchString(output) {
		ts.Fatalf("%s: %s", match[1], output)
	}
}
