package fieldhistory

import (
	"encoding/json"
	"time"
)

// Operation says how a write changed an object.
type Operation string

const (
	// Create is the first write of an object. Its entry has no changes: the object did not exist before.
	Create Operation = "create"
	// Update is a write of an existing object.
	Update Operation = "update"
	// Delete removed the object. Its entry has the fields that the object had, and is kept only if the server keeps the history of
	// deleted objects.
	Delete Operation = "delete"
	// Replace created the object in the place of another one with the same name, in one write. Its entry has no changes.
	Replace Operation = "replace"
	// Convert is no write: the object is stored in another version of its API since. The changes lead from the content in the previous
	// version to that in the new one.
	Convert Operation = "convert"
)

// Entry is one write of an object.
type Entry struct {
	// Number is one more than that of the entry before. It never changes.
	Number int64     `json:"number"`
	Time   time.Time `json:"time"`
	// ResourceVersion is that of the object after the write.
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// User is the authenticated user, Manager the field manager, and Command the command line or else the program of the client.
	User    string `json:"user,omitempty"`
	Manager string `json:"manager,omitempty"`
	Command string `json:"command,omitempty"`
	// APIVersion is the version of the object that the paths and values are of.
	APIVersion string `json:"apiVersion"`
	// PreviousVersion is the version of the entries before this one, if Operation is Convert.
	PreviousVersion string    `json:"previousVersion,omitempty"`
	Operation       Operation `json:"operation"`
	// Truncated says that history does not say what has changed: the write changed too much, or, in an entry without a user, the object
	// has changed while the server did not record it.
	Truncated bool     `json:"truncated,omitempty"`
	Changes   []Change `json:"changes,omitempty"`
}

// Change is a change of one field.
type Change struct {
	// Path is the field, as package value writes it with a leading dot: .spec.template.spec.containers[name="web"].image.
	Path string `json:"path"`
	// From and To are the values before and after as JSON, null included. Without From and FromHash the object did not have the field
	// before, without To and ToHash it does not have it after.
	From json.RawMessage `json:"from,omitempty"`
	To   json.RawMessage `json:"to,omitempty"`
	// FromHash and ToHash stand for values that history does not keep.
	FromHash *Hash `json:"fromHash,omitempty"`
	ToHash   *Hash `json:"toHash,omitempty"`
	// Index is the position of an item that the change removes from a list, or adds to it.
	Index *int `json:"index,omitempty"`
}

// List is the answer to a GET of an object with [Query].
type List struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	// UID is that of the object whose history it is, empty if there is none.
	UID string `json:"uid"`
	// Recording says that the server records the next write.
	Recording bool `json:"recording"`
	// Deleted is the time of the deletion of the object, nil if it exists.
	Deleted *time.Time `json:"deleted,omitempty"`
	// ResourceVersion is that of the newest entry.
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// Fingerprint is that of the content after the newest entry, in hexadecimal. If the object has another one, it has changed while the
	// server did not record it. It is empty for a Secret, because the server computes it from HMACs.
	Fingerprint string `json:"fingerprint,omitempty"`
	// Items are the entries, the oldest first.
	Items []Entry `json:"items"`
	// OtherUIDs are those of deleted objects of the same name whose history the server still has, at most the 100 that were deleted
	// last. The parameter uid asks for one.
	OtherUIDs []string `json:"otherUIDs,omitempty"`
}

const (
	// Label opts an object, or the objects of a namespace, in to history, with the value "fields".
	Label = "holdfast.dev/history"
	// LabelFields is the value of Label.
	LabelFields = "fields"
	// Query is the query of a GET of an object that asks for its history. The answer is a FieldHistory. A client that may get the object
	// may read it.
	Query = "holdfast=history"
	// UIDParameter is the query parameter with the UID of the object whose history a client reads. Without it, that is the object that
	// exists, or the one of this name that was deleted last.
	UIDParameter = "uid"
	// ListKind is the kind of a List.
	ListKind = "FieldHistory"
	// ListVersion is the apiVersion of a List.
	ListVersion = "holdfast.dev/v1"
)
