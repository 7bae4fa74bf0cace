package authorship

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/api"
)

// recordPurpose is the purpose of the sealed record of an Instance.
const recordPurpose = "record of an Instance"

// recordSubject is what the record of an Instance is about.
type recordSubject struct {
	Namespace       string            `json:"namespace"`
	Name            string            `json:"name"`
	Plan            string            `json:"plan"`
	Run             types.UID         `json:"run"`
	OperatorVersion string            `json:"operatorVersion"`
	Parameters      map[string]string `json:"parameters"`
	// Binding and Names are the texts of these annotations.
	Binding string `json:"binding"`
	Names   string `json:"names"`
}

// about returns the subject of the record of an Instance. name is the name that the record
// is bound to.
func about(instance *api.Instance, name string) Subject {
	subject := recordSubject{
		Namespace: instance.Namespace, Name: name,
		Plan: instance.Spec.PlanExecution.PlanName, Run: instance.Spec.PlanExecution.UID,
		OperatorVersion: instance.VersionKey(),
		Binding:         instance.Annotations[api.BindingAnnotation],
		Names:           instance.Annotations[api.RequesterAnnotation],
	}
	// A map without values is stored like no map.
	if len(instance.Spec.Parameters) > 0 {
		subject.Parameters = instance.Spec.Parameters
	}
	return Subject{Purpose: recordPurpose, About: subject}
}

// generated returns the text that stands for the name of an Instance while the server has
// not generated the name; "" if the name is not generated. The result is the same before and
// after the name is generated.
func generated(instance *api.Instance) string {
	prefix := instance.GenerateName
	if prefix == "" || instance.Name != "" && !strings.HasPrefix(instance.Name, prefix) {
		return ""
	}
	return prefix + "*"
}

// SetRecord stores a record on an Instance. The parameters, the plan execution and the
// binding must have their final content.
func (k *Keyring) SetRecord(ctx context.Context, instance *api.Instance, record Record) error {
	names, err := json.Marshal(namesOf(record))
	if err != nil {
		return err
	}
	api.SetAnnotation(instance, api.RequesterAnnotation, string(names))
	name := instance.Name
	if pattern := generated(instance); pattern != "" && record.Instance == "" {
		name = pattern
	}
	text, err := k.Seal(ctx, about(instance, name), encode(record))
	if err != nil {
		return err
	}
	api.SetAnnotation(instance, api.SealedRecordAnnotation, text)
	return nil
}

// Record returns the record of an Instance. The error is ErrUnverified if there is none that
// was sealed for exactly this Instance and its current content.
func (k *Keyring) Record(ctx context.Context, instance *api.Instance) (Record, error) {
	text, found := instance.Annotations[api.SealedRecordAnnotation]
	if !found {
		return Record{}, fmt.Errorf("the record of the requester %w: there is none", ErrUnverified)
	}
	var content encoded
	err := k.Open(ctx, about(instance, instance.Name), text, &content)
	if pattern := generated(instance); pattern != "" && errors.Is(err, ErrUnverified) {
		if err = k.Open(ctx, about(instance, pattern), text, &content); err == nil && content.Instance != "" {
			err = ErrUnverified
		}
	}
	if err == nil && content.Instance != "" && content.Instance != instance.UID {
		err = ErrUnverified
	}
	if err != nil {
		return Record{}, fmt.Errorf("the record of the requester: %w", err)
	}
	return content.decode(), nil
}

// Names are the user names of a record, for people that read the Instance. They are not
// authenticated: only Record is.
type Names struct {
	// Requester is the name of the user that requested the last run.
	Requester string `json:"username"`
	// Authors are the names of the authors of each parameter value. An empty name means
	// that the author is not known.
	Authors map[string][]string `json:"authors,omitempty"`
}

// NamesOn returns the names on an Instance; false if there are none.
func NamesOn(instance *api.Instance) (Names, bool, error) {
	text, found := instance.Annotations[api.RequesterAnnotation]
	if !found {
		return Names{}, false, nil
	}
	var names Names
	if err := json.Unmarshal([]byte(text), &names); err != nil {
		return Names{}, false, fmt.Errorf("metadata.annotations[%s]: %w", api.RequesterAnnotation, err)
	}
	return names, true, nil
}

func namesOf(record Record) Names {
	names := Names{Requester: record.Requester.Username}
	for parameter, users := range record.Authors {
		for _, user := range users {
			if names.Authors == nil {
				names.Authors = map[string][]string{}
			}
			names.Authors[parameter] = append(names.Authors[parameter], user.Username)
		}
	}
	return names
}
