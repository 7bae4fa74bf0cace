package definition

import (
	"regexp/syntax"
	"strings"
	"testing"
)

// The size of an expression is about that of the program that Go makes of it.
func TestSizeOfExpression(t *testing.T) {
	for _, source := range []string{
		"", "abc", "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "x{1000}", "x{0,1000}", "x{500,}", strings.Repeat("x{1000}", 100), "(?:[a-z]{10}){50}",
		"(a|b|c){300}", "(?i)straße{20}", `\p{L}{400}`, "((((a?)*)+)?){30}", "(ab?){2,200}",
	} {
		parsed, err := syntax.Parse(source, syntax.Perl)
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		program, err := syntax.Compile(parsed.Simplify())
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		if got, want := sizeOfExpression(source), len(program.Inst); got > 2*want || want > 2*got+10 {
			t.Errorf("%.40s: %d steps, and the program of Go has %d", source, got, want)
		}
	}
	if got := sizeOfExpression("("); got != 0 {
		t.Errorf("an invalid expression has %d steps", got)
	}
}

func TestExpressionsOfRule(t *testing.T) {
	for rule, want := range map[string]string{
		"": "", "self ==": "", "self == 'a'": "",
		"self.matches('a+') || matches(self, 'b+')":                   "a+ b+",
		"self.x.all(y, y.find('c') != '' && y.findAll('d', 2) != [])": "c d",
		"has(self.a) && self.?b.orValue('').matches('e')":             "e",
		"self.matches(self.pattern)":                                  "",
	} {
		if got := strings.Join(expressionsOfRule(rule), " "); got != want {
			t.Errorf("%s: got %q, want %q", rule, got, want)
		}
	}
}
