package parameters

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// Compare compares two operator versions as semantic versions. It returns -1, 0 or 1 if
// a is older than, equal to or newer than b. A missing minor or patch number is 0.
func Compare(a, b string) (int, error) {
	parsedA, err := parseVersion(a)
	if err != nil {
		return 0, err
	}
	parsedB, err := parseVersion(b)
	if err != nil {
		return 0, err
	}
	switch {
	case parsedA.LessThan(parsedB):
		return -1, nil
	case parsedB.LessThan(parsedA):
		return 1, nil
	}
	return 0, nil
}

func parseVersion(text string) (*version.Version, error) {
	numbers, rest := text, ""
	if cut := strings.IndexAny(text, "-+"); cut >= 0 {
		numbers, rest = text[:cut], text[cut:]
	}
	for strings.Count(numbers, ".") < 2 {
		numbers += ".0"
	}
	parsed, err := version.ParseSemantic(numbers + rest)
	if err != nil {
		return nil, fmt.Errorf("%q is not a semantic version", text)
	}
	return parsed, nil
}
