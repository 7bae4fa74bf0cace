package revocation

import (
	"fmt"
	"math/big"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/access"
)

// Namespace, Name and Key are where the list is: the namespace and name of a ConfigMap, and the
// key in its data.
const (
	Namespace = metav1.NamespaceSystem
	Name      = "holdfast-revocations"
	Key       = "revocations.yaml"
)

// Entry revokes credentials. Exactly one of Serial, Credential, User and Node is set.
type Entry struct {
	// Serial is the serial number of a client certificate, in hexadecimal.
	Serial string `json:"serial,omitempty"`
	// Credential is the ID of a credential, as audit logs and "kubectl auth whoami" show it
	// in authentication.kubernetes.io/credential-id.
	Credential string `json:"credential,omitempty"`
	// User is the name of a user, for all its credentials.
	User string `json:"user,omitempty"`
	// Node is the name of a node, for all its credentials, and for the tokens that are bound
	// to it or to a pod on it.
	Node string `json:"node,omitempty"`
	// IssuedBefore limits an entry for a user or node to credentials that were issued before
	// this time.
	IssuedBefore *metav1.Time `json:"issuedBefore,omitempty"`
	// Reason is a text for administrators.
	Reason string `json:"reason,omitempty"`
	// Added is when the entry was added.
	Added *metav1.Time `json:"added,omitempty"`
}

// Subject returns the field that is set and its value, such as "user jane".
func (e Entry) Subject() string {
	switch {
	case e.Serial != "":
		return "serial " + e.Serial
	case e.Credential != "":
		return "credential " + e.Credential
	case e.User != "":
		return "user " + e.User
	}
	return "node " + e.Node
}

// ParseSerial returns a serial number as the list has it: in lower case, without colons and
// leading zeros. Tools such as openssl print other forms.
func ParseSerial(text string) (string, error) {
	number, ok := new(big.Int).SetString(strings.ReplaceAll(text, ":", ""), 16)
	if !ok || number.Sign() < 0 {
		return "", fmt.Errorf("%q is not a number in hexadecimal", text)
	}
	return number.Text(16), nil
}

// Parse decodes and validates a list. It returns all errors, and no entry if there is one.
// An unknown field is an error.
func Parse(text string) ([]Entry, error) {
	var entries []Entry
	if err := yaml.UnmarshalStrict([]byte(text), &entries); err != nil {
		return nil, fmt.Errorf("%s: %w", Key, err)
	}
	var errs field.ErrorList
	for i := range entries {
		errs = append(errs, entries[i].complete(field.NewPath(Key).Index(i))...)
	}
	if len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	return entries, nil
}

// complete normalizes the entry and validates it.
func (e *Entry) complete(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	set := 0
	for _, value := range []string{e.Serial, e.Credential, e.User, e.Node} {
		if value != "" {
			set++
		}
	}
	if set != 1 {
		errs = append(errs, field.Required(path, "exactly one of serial, credential, user and node"))
	}
	if e.Serial != "" {
		serial, err := ParseSerial(e.Serial)
		if err != nil {
			return append(errs, field.Invalid(path.Child("serial"), e.Serial, "must be a number in hexadecimal"))
		}
		e.Serial = serial
	}
	if e.IssuedBefore != nil && e.User == "" && e.Node == "" {
		errs = append(errs, field.Forbidden(path.Child("issuedBefore"), "may only be set for a user or a node"))
	}
	if e.User == access.AdminUser && e.IssuedBefore == nil {
		errs = append(errs, field.Required(path.Child("issuedBefore"), "for user "+access.AdminUser+": the certificate on the disk of "+
			"each server is the emergency access, and each server replaces a certificate issued before this time"))
	}
	return errs
}

// Format encodes a list.
func Format(entries []Entry) (string, error) {
	text, err := yaml.Marshal(entries)
	if err != nil {
		return "", fmt.Errorf("%s: %w", Key, err)
	}
	return string(text), nil
}
