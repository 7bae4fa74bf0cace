package judgement

import "fmt"

// Mode says how writes to fields that apply owns are answered.
type Mode string

const (
	// EnforceEdit refuses edits and warns about other writes.
	EnforceEdit Mode = "enforce-edit"
	// Warn warns and refuses nothing.
	Warn Mode = "warn"
	// Off neither warns nor refuses.
	Off Mode = "off"
)

// ParseMode parses a mode; the empty text is EnforceEdit.
func ParseMode(text string) (Mode, error) {
	switch mode := Mode(text); mode {
	case "":
		return EnforceEdit, nil
	case EnforceEdit, Warn, Off:
		return mode, nil
	}
	return "", fmt.Errorf("ownership %q: must be %s, %s or %s", text, EnforceEdit, Warn, Off)
}
