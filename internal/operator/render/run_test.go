package render_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast.dev/holdfast/internal/operator/render"
)

// TestCosts checks that an expensive call is refused before it is made, by the budget of the plan or
// by that of the template.
func TestCosts(t *testing.T) {
	const plan, one = "the templates of the plan do too much work", "the template does too much work"
	tests := map[string]struct {
		left         time.Duration
		source, want string
	}{
		"a key of RSA":               {2 * time.Second, `{{ genPrivateKey "rsa" }}`, plan},
		"a key of DSA":               {time.Second, `{{ genPrivateKey "dsa" }}`, plan},
		"a certificate authority":    {200 * time.Millisecond, `{{ genCA "a" 1 }}`, plan},
		"a certificate":              {200 * time.Millisecond, `{{ genSelfSignedCert "a" nil nil 1 }}`, plan},
		"a hash of a password":       {50 * time.Millisecond, `{{ bcrypt "a" }}`, plan},
		"a line of htpasswd":         {50 * time.Millisecond, `{{ htpasswd "a" "b" }}`, plan},
		"a derived password":         {200 * time.Millisecond, `{{ derivePassword 1 "long" "a" "b" "c" }}`, plan},
		"keys in a loop":             {10 * time.Millisecond, `{{ range until 100 }}{{ $_ := genPrivateKey "ecdsa" }}{{ end }}`, plan},
		"loops of several templates": {time.Millisecond, `{{ range until 1000 }}{{ end }}`, plan},
		"a search of a long text": {
			time.Minute, `{{ $s := repeat 10000 (repeat 400 "a") }}{{ regexMatch "(a|b|c)*d(e|f)*" $s }}`, one,
		},
		"a long expression":      {time.Minute, `{{ regexFind (repeat 1000 "(a|b|c){900}") "abc" }}`, one},
		"a list without doubles": {time.Minute, `{{ until 10000 | uniq }}`, one},
		"a list without others":  {time.Minute, `{{ $l := until 10000 }}{{ range until 300 }}{{ $_ := without $l 1 2 3 }}{{ end }}`, one},
		"a product":              {time.Minute, "{{ mulf" + strings.Repeat(" 7", 4000) + " }}", one},
		"characters of a set":    {time.Minute, `{{ trimAll (repeat 10000 "é") (repeat 10000 (repeat 40 "è")) }}`, one},
		"random text":            {time.Minute, `{{ range until 10000 }}{{ $_ := randAlphaNum 10000 }}{{ end }}`, one},
		"numbers":                {time.Minute, `{{ range until 10000 }}{{ $_ := seq 10000 }}{{ end }}`, one},
		"numbers of a step":      {time.Minute, `{{ range until 10000 }}{{ $_ := untilStep 10000 0 -1 }}{{ end }}`, one},
		"YAML":                   {time.Minute, `{{ $l := until 10000 }}{{ range until 10000 }}{{ $_ := toYaml $l }}{{ end }}`, one},
		"time zones":             {time.Minute, `{{ range until 10000 }}{{ $_ := dateInZone "2006" now "UTC" }}{{ end }}`, one},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := render.NewRun(test.left).Template(t.Context(), "x.yaml", test.source, values)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error that contains %q", err, test.want)
			}
		})
	}
}

// TestRunKeepsKeys checks that a run renders a template with a key once for the same values, also in
// another attempt and without a budget.
func TestRunKeepsKeys(t *testing.T) {
	const source = `{{ .StepName }} {{ genPrivateKey "ed25519" }}`
	run := render.NewRun(3 * time.Millisecond)
	get := func(step string) string {
		t.Helper()
		data := values
		data.StepName = step
		text, err := run.Template(t.Context(), "x.yaml", source, data)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	first := get("a")
	for range 10 {
		if got := get("a"); got != first {
			t.Fatalf("got %s, before %s", got, first)
		}
	}
	if got := get("b"); got == first || !strings.HasPrefix(got, "b ") {
		t.Errorf("with other values: %s", got)
	}
	run.Begin()
	if got := get("a"); got != first {
		t.Errorf("in another attempt: %s", got)
	}
	if got := get("c"); got == first {
		t.Errorf("with other values: %s", got)
	}
}

// TestRunKeepsLittle checks that the output which a run keeps is limited.
func TestRunKeepsLittle(t *testing.T) {
	var run render.Run
	var err error
	for i := 0; i < 100 && err == nil; i++ {
		_, err = run.Template(t.Context(), "x.yaml", fmt.Sprintf(`%d {{ repeat 10000 "a" }} {{ genPrivateKey "ed25519" }}`, i), values)
	}
	if err == nil || !strings.Contains(err.Error(), "more than 256 KiB of output") {
		t.Errorf("got %v", err)
	}
}
