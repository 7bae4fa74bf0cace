package lifecycle_test

import (
	"strings"
	"testing"

	"holdfast.dev/holdfast/internal/lifecycle"
)

// TestSelection checks which controllers the values of --controllers choose.
func TestSelection(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		selection lifecycle.Selection
		on, off   []string
		want      string // a part of the error
	}{
		"empty":       {on: []string{lifecycle.Garbage, lifecycle.Signing}},
		"all":         {selection: lifecycle.Selection{"*"}, on: []string{lifecycle.Garbage}},
		"none":        {selection: lifecycle.Selection{"-*"}, off: []string{lifecycle.Garbage, lifecycle.Signing}},
		"all again":   {selection: lifecycle.Selection{"-*", "*"}, on: []string{lifecycle.Garbage}},
		"one":         {selection: lifecycle.Selection{lifecycle.Accounts}, on: []string{lifecycle.Accounts}, off: []string{lifecycle.Garbage}},
		"all but one": {selection: lifecycle.Selection{"*", "-" + lifecycle.Accounts}, on: []string{lifecycle.Garbage}, off: []string{lifecycle.Accounts}},
		"unknown":     {selection: lifecycle.Selection{"*", "-deployment"}, want: `unknown controller "deployment": the controllers here are certificatesigningrequest`},
		"no watches":  {selection: lifecycle.Selection{"*", "-" + lifecycle.Garbage}, want: "turn both off, or none"},
	} {
		err := test.selection.Check()
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
		for _, controller := range test.on {
			if !test.selection.Has(controller) {
				t.Errorf("%s: %s is off", name, controller)
			}
		}
		for _, controller := range test.off {
			if test.selection.Has(controller) {
				t.Errorf("%s: %s is on", name, controller)
			}
		}
	}
	for _, test := range []struct {
		selection lifecycle.Selection
		want      bool
	}{
		{nil, true},
		{lifecycle.Selection{"-*"}, false},
		{lifecycle.Selection{lifecycle.Accounts}, true},
		{lifecycle.Selection{lifecycle.Signing}, false},
	} {
		if got := test.selection.NeedsLease(); got != test.want {
			t.Errorf("%q needs the Lease: %t", test.selection, got)
		}
	}
}
