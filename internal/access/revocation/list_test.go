package revocation_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/authentication/user"

	"holdfast.dev/holdfast/internal/access/revocation"
)

func TestParseRejects(t *testing.T) {
	const exactlyOne = "revocations.yaml[0]: Required value: exactly one of serial, credential, user and node"
	tests := map[string]struct{ text, want string }{
		"no list":       {"user: jane", "revocations.yaml: error unmarshaling JSON"},
		"unknown field": {"- {usr: jane}", `unknown field "usr"`},
		"empty entry":   {"- {reason: x}", exactlyOne},
		"two subjects":  {"- {user: jane, node: n1}", exactlyOne},
		"serial":        {"- {serial: xyz}", `revocations.yaml[0].serial: Invalid value: "xyz": must be a number in hexadecimal`},
		"time of serial": {
			"- {serial: a1, issuedBefore: 2026-01-01T00:00:00Z}",
			"revocations.yaml[0].issuedBefore: Forbidden: may only be set for a user or a node",
		},
		"no time":   {"- {user: jane, issuedBefore: yesterday}", "parsing time"},
		"emergency": {"- {node: n1}\n- {user: holdfast-admin}", "revocations.yaml[1].issuedBefore: Required value: for user holdfast-admin"},
		"several":   {"- {}\n- {serial: '-1'}", `revocations.yaml[1].serial: Invalid value: "-1"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			entries, err := revocation.Parse(test.text)
			if err == nil || !strings.Contains(err.Error(), test.want) || entries != nil {
				t.Errorf("got %v, %v, want %s", entries, err, test.want)
			}
		})
	}
}

const listed = `
- {serial: "00:AB:CD:01"}
- {credential: JTI=1}
- {user: jane, reason: left}
- {user: joe, issuedBefore: 2026-01-02T00:00:00Z}
- {user: joe, issuedBefore: 2026-01-01T00:00:00Z}
- {user: jim, issuedBefore: 2026-01-01T00:00:00Z}
- {user: jim}
- {node: n1}
- {node: n2, issuedBefore: 2026-01-01T00:00:00Z}
- {user: holdfast-admin, issuedBefore: 2026-01-01T00:00:00Z}
`

func TestFind(t *testing.T) {
	entries, err := revocation.Parse(listed)
	if err != nil {
		t.Fatal(err)
	}
	list := revocation.NewList(entries)
	day := func(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
	tests := map[string]struct {
		credential revocation.Credential
		want       string
	}{
		"nothing known":             {revocation.Credential{}, ""},
		"another user":              {revocation.Credential{User: "janet", Serial: "abcd02", ID: "JTI=2", Node: "n3"}, ""},
		"serial":                    {revocation.Credential{User: "bob", Serial: "abcd01"}, "serial abcd01"},
		"ID":                        {revocation.Credential{User: "bob", ID: "JTI=1"}, "credential JTI=1"},
		"user":                      {revocation.Credential{User: "jane", Issued: day(31)}, "user jane"},
		"user, older":               {revocation.Credential{User: "joe", Issued: day(2).Add(-time.Second)}, "user joe"},
		"user, newer":               {revocation.Credential{User: "joe", Issued: day(2)}, ""},
		"user, age unknown":         {revocation.Credential{User: "joe"}, "user joe"},
		"user, the wider entry":     {revocation.Credential{User: "jim", Issued: day(31)}, "user jim"},
		"node":                      {revocation.Credential{User: "system:node:n1", Node: "n1", Issued: day(31)}, "node n1"},
		"token of a pod on it":      {revocation.Credential{User: "system:serviceaccount:a:b", Node: "n1"}, "node n1"},
		"node, newer":               {revocation.Credential{User: "system:node:n2", Node: "n2", Issued: day(1)}, ""},
		"user with a node's name":   {revocation.Credential{User: "n1"}, ""},
		"emergency user, old":       {revocation.Credential{User: "holdfast-admin", Issued: day(1).Add(-1)}, "user holdfast-admin"},
		"emergency user, not older": {revocation.Credential{User: "holdfast-admin", Issued: day(1)}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := ""
			if entry, found := list.Find(test.credential); found {
				got = entry.Subject()
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestOfToken(t *testing.T) {
	jwt := func(claims string) string {
		return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
	}
	u := &user.DefaultInfo{Name: "system:serviceaccount:a:b", Extra: map[string][]string{
		"authentication.kubernetes.io/credential-id": {"JTI=7"}, "authentication.kubernetes.io/node-name": {"n1"},
	}}
	issued := time.Unix(1767225600, 0)
	for token, want := range map[string]time.Time{
		jwt(`{"iat": 1767225600}`): issued, jwt(`{"iat": 1767225600.9}`): issued, jwt(`{"iat": 1.7672256e9}`): issued,
		jwt(`{}`): {}, jwt(`{"iat": -1}`): {}, jwt(`{"iat": "x"}`): {}, jwt(`[`): {}, "opaque": {}, "a.%.c": {},
	} {
		got := revocation.OfToken(u, token)
		if diff := cmp.Diff(revocation.Credential{User: u.Name, Node: "n1", ID: "JTI=7", Issued: want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", token, diff)
		}
	}
}

// FuzzParse checks that a list that was parsed and written is the same list, and that every
// entry of it revokes what it names.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"", "[]", "null", "- {user: jane}", "- {serial: AB:CD}", listed} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		entries, err := revocation.Parse(text)
		if err != nil {
			return
		}
		written, err := revocation.Format(entries)
		if err != nil {
			t.Fatal(err)
		}
		again, err := revocation.Parse(written)
		if err != nil {
			t.Fatalf("%v\n%s", err, written)
		}
		if fmt.Sprint(subjects(entries)) != fmt.Sprint(subjects(again)) {
			t.Errorf("got %v, want %v", subjects(again), subjects(entries))
		}
		list := revocation.NewList(entries)
		for _, entry := range entries {
			c := revocation.Credential{Serial: entry.Serial, ID: entry.Credential, User: entry.User, Node: entry.Node}
			if _, found := list.Find(c); !found {
				t.Errorf("%s is not revoked", entry.Subject())
			}
		}
	})
}

func subjects(entries []revocation.Entry) []string {
	all := make([]string, 0, len(entries))
	for _, entry := range entries {
		all = append(all, entry.Subject())
	}
	return all
}
