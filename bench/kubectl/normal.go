package kubectl

import (
	"regexp"
	"strings"
)

// replacement is a text that differs between two servers, or between two runs.
type replacement struct {
	form *regexp.Regexp
	by   string
}

var replacements = []replacement{
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT[0-9:.]+Z`), "TIME"},
	{regexp.MustCompile(`\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} [0-9:]+ [+-]\d{4}`), "TIME"},
	{regexp.MustCompile(`\b\w\d{4} \d\d:\d\d:\d\d\.\d+ +\d+`), "LOG"},
	// A UID may begin like a duration.
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`\b(\d+(\.\d+)?(d|h|ms|m|s))+\b|<invalid>`), "AGE"},
	{regexp.MustCompile(`kube-api-access-\w{5}`), "kube-api-access"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "ADDRESS"},
	{regexp.MustCompile(`\b10\.\d+\.\d+\.\d+`), "IP"},
	{regexp.MustCompile(`[ \t]+`), " "},
	{regexp.MustCompile(`(?m) +$`), ""},
}

// normal returns an output without what differs between two runs.
func normal(text string) string {
	for _, r := range replacements {
		text = r.form.ReplaceAllString(text, r.by)
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}
