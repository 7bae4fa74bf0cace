package managers

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
)

// NameOf returns the name under which the server records a client: the field manager of its request, or else the beginning of its user agent
// up to the first slash, without characters that cannot be printed.
func NameOf(fieldManager, userAgent string) string {
	if fieldManager != "" {
		return fieldManager
	}
	program, _, _ := strings.Cut(userAgent, "/")
	var out strings.Builder
	for _, c := range program {
		if !unicode.IsPrint(c) {
			continue
		}
		if out.Len()+utf8.RuneLen(c) > validation.FieldManagerMaxLength {
			break
		}
		out.WriteRune(c)
	}
	return out.String()
}
