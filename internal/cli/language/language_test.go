package language_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"k8s.io/kubectl/pkg/cmd/options"

	"holdfast.dev/holdfast/internal/cli/language"
)

// printText makes the test binary print a text of kubectl. The language of a process does not change after its start.
const printText = "HOLDFAST_PRINT_TEXT"

func TestMain(m *testing.M) {
	if os.Getenv(printText) == "" {
		os.Exit(m.Run())
	}
	fmt.Print(options.NewCmdOptions(io.Discard).Short)
}

func TestTranslations(t *testing.T) {
	t.Parallel()
	const english, german = "Print the list of flags inherited by all commands", "Schreibt die Liste von Optionen, die alle Befehle erben"
	for name, test := range map[string]struct {
		environment []string
		want        string
	}{
		"none":                     {nil, english},
		"English":                  {[]string{"LANG=en_US.UTF-8"}, english},
		"German":                   {[]string{"LANG=de_DE.UTF-8"}, german},
		"LC_ALL comes before LANG": {[]string{"LANG=en_US.UTF-8", "LC_ALL=de_DE.UTF-8"}, german},
		"not translated":           {[]string{"LANG=fi_FI.UTF-8"}, english},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append([]string{printText + "=1"}, test.environment...)
			got, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func TestIsEnglish(t *testing.T) {
	t.Parallel()
	for locale, want := range map[string]bool{
		"": true, "C": true, "C.UTF-8": true, "POSIX": true, "en_US.UTF-8": true, "en_GB": true, "de_DE.UTF-8": false, "ja_JP": false,
	} {
		getenv := func(name string) string { return map[string]string{"LANG": locale}[name] }
		if got := language.IsEnglish(getenv); got != want {
			t.Errorf("%q: %t, want %t", locale, got, want)
		}
	}
}

// TestInTime checks that kubectl translated no text before this package was initialized.
func TestInTime(t *testing.T) {
	t.Parallel()
	if language.ErrLate != nil {
		t.Error(language.ErrLate)
	}
}
