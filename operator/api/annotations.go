package api

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Given is the consent to parameters that become immutable, for exactly one
// OperatorVersion. It may stay on the Instance: it means nothing for any other.
type Given struct {
	OperatorVersion string   `json:"operatorVersion"`
	Names           []string `json:"names"`
}

// Consented are the names consented to for an upgrade to an OperatorVersion, nil
// for none.
func Consented(instance metav1.Object, operatorVersion string) ([]string, error) {
	var given Given
	if _, err := read(instance, GivenAnnotation, &given); err != nil {
		return nil, err
	}
	if given.OperatorVersion != operatorVersion {
		return nil, nil
	}
	return given.Names, nil
}

// Record is what the parameters were when an OperatorVersion was left.
type Record struct {
	OperatorVersion string            `json:"operatorVersion"`
	Parameters      map[string]string `json:"parameters"`
}

const (
	// maxRecords is how many versions back an Instance remembers.
	maxRecords = 5
	// maxRecordsSize is half of what all annotations of an object may take: records
	// are never the reason that an upgrade cannot be stored.
	maxRecordsSize = 128 << 10
)

// Records are the versions an Instance had, the last one last.
func Records(instance metav1.Object) ([]Record, error) {
	var records []Record
	_, err := read(instance, RecordsAnnotation, &records)
	return records, err
}

// SetRecords replaces the records, forgetting the oldest where there are many, or
// large ones.
func SetRecords(instance metav1.Object, records []Record) error {
	if len(records) > maxRecords {
		records = records[len(records)-maxRecords:]
	}
	for ; len(records) > 0; records = records[1:] {
		if err := write(instance, RecordsAnnotation, records); err != nil {
			return err
		}
		if len(instance.GetAnnotations()[RecordsAnnotation]) <= maxRecordsSize {
			return nil
		}
	}
	remove(instance, RecordsAnnotation)
	return nil
}

// RollBack asks for the OperatorVersion that an Instance had before.
func RollBack(instance metav1.Object, operatorVersion string) {
	set(instance, RollbackAnnotation, operatorVersion)
}

// Requester is the user whose write triggered the plan, and with whose rights
// the plan writes.
type Requester struct {
	Username string              `json:"username"`
	UID      string              `json:"uid,omitempty"`
	Groups   []string            `json:"groups,omitempty"`
	Extra    map[string][]string `json:"extra,omitempty"`
}

// RequestedBy is the user that admission wrote down; false if there is none.
func RequestedBy(instance metav1.Object) (Requester, bool, error) {
	var requester Requester
	found, err := read(instance, RequesterAnnotation, &requester)
	return requester, found, err
}

// SetRequester writes down a user.
func SetRequester(instance metav1.Object, requester Requester) error {
	return write(instance, RequesterAnnotation, requester)
}

// SetGiven writes down a consent.
func SetGiven(instance metav1.Object, given Given) error {
	return write(instance, GivenAnnotation, given)
}

func read(object metav1.Object, annotation string, target any) (bool, error) {
	text, found := object.GetAnnotations()[annotation]
	if !found {
		return false, nil
	}
	if err := json.Unmarshal([]byte(text), target); err != nil {
		return false, fmt.Errorf("metadata.annotations[%s]: %w", annotation, err)
	}
	return true, nil
}

func write(object metav1.Object, annotation string, content any) error {
	text, err := json.Marshal(content)
	if err != nil {
		return fmt.Errorf("metadata.annotations[%s]: %w", annotation, err)
	}
	set(object, annotation, string(text))
	return nil
}

func set(object metav1.Object, annotation, text string) {
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[annotation] = text
	object.SetAnnotations(annotations)
}

func remove(object metav1.Object, annotation string) {
	annotations := object.GetAnnotations()
	delete(annotations, annotation)
	object.SetAnnotations(annotations)
}
