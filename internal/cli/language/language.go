// Package language loads the translations of kubectl only for a language that needs them.
//
//	import _ "holdfast.dev/holdfast/internal/cli/language"
//
// kubectl translates its texts while its packages are initialized. The translation into English takes a third of the time that
// the program needs before it runs a command, and has the same texts as the code.
package language

import (
	"cmp"
	"os"
	"strings"

	"k8s.io/kubectl/pkg/util/i18n"
)

// errLate is an error if kubectl loaded its translations before it could be told not to. Go initializes the packages that are ready in
// the order of their paths, and the path of this package comes before those of kubectl's commands.
var errLate = i18n.SetLoadTranslationsFunc(load)

func load() error {
	if isEnglish(os.Getenv) {
		return nil
	}
	return i18n.LoadTranslations("kubectl", nil)
}

// isEnglish returns whether the environment chooses no language, or English. The variables have the order of gettext.
func isEnglish(getenv func(string) string) bool {
	locale := cmp.Or(getenv("LC_ALL"), getenv("LC_MESSAGES"), getenv("LANG"), "C")
	name, _, _ := strings.Cut(locale, ".")
	return name == "C" || name == "POSIX" || strings.HasPrefix(name, "en_")
}
