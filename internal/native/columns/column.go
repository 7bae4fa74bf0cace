package columns

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
)

// The texts that Kubernetes prints for missing values.
const (
	none    = "<none>"
	unset   = "<unset>"
	unknown = "<unknown>"
)

// column is the definition of a column, and the function that returns the cell of an object.
type column struct {
	metav1.TableColumnDefinition

	cell func(obj runtime.Object, now time.Time) any
}

// table returns a table with these columns.
func table(columns ...column) Table {
	definitions := make([]metav1.TableColumnDefinition, len(columns))
	for i, c := range columns {
		definitions[i] = c.TableColumnDefinition
	}
	return Table{Columns: definitions, row: func(obj runtime.Object, now time.Time) []any {
		cells := make([]any, len(columns))
		for i, c := range columns {
			cells[i] = c.cell(obj, now)
		}
		return cells
	}}
}

// text returns a column of strings.
func text[T runtime.Object](name, doc string, cell func(T) string) column {
	return timed(name, doc, func(obj T, _ time.Time) string { return cell(obj) })
}

// timed returns a column of strings that depend on the current time.
func timed[T runtime.Object](name, doc string, cell func(T, time.Time) string) column {
	return column{
		metav1.TableColumnDefinition{Name: name, Type: "string", Description: doc},
		func(obj runtime.Object, now time.Time) any { return cell(obj.(T), now) },
	}
}

// number returns a column of integers.
func number[T runtime.Object, N int | int32 | int64](name, doc string, cell func(T) N) column {
	return column{
		metav1.TableColumnDefinition{Name: name, Type: "integer", Description: doc},
		func(obj runtime.Object, _ time.Time) any { return int64(cell(obj.(T))) },
	}
}

// flag returns a column of booleans.
func flag[T runtime.Object](name, doc string, cell func(T) bool) column {
	return column{
		metav1.TableColumnDefinition{Name: name, Type: "boolean", Description: doc},
		func(obj runtime.Object, _ time.Time) any { return cell(obj.(T)) },
	}
}

// wide returns c as a column that kubectl prints only with `-o wide`.
func (c column) wide() column {
	c.Priority = 1
	return c
}

// asName returns c as the column with the name of the object. Clients recognize it by its format.
func (c column) asName() column {
	c.Format = "name"
	return c
}

var metadata = metav1.ObjectMeta{}.SwaggerDoc()

// name and age are columns of nearly all kinds.
var (
	name = text("Name", metadata["name"], func(obj object) string { return obj.GetName() }).asName()
	age  = timed("Age", metadata["creationTimestamp"], func(obj object, now time.Time) string {
		return ageOf(obj.GetCreationTimestamp().Time, now)
	})
)

// nameAndCreation is the table of kinds without columns of their own in Kubernetes.
var nameAndCreation = func() Table {
	created := text("Created At", metadata["creationTimestamp"], func(obj object) string {
		return obj.GetCreationTimestamp().UTC().Format(time.RFC3339)
	})
	created.Type = "date"
	return table(name, created)
}()

type object interface {
	runtime.Object
	metav1.Object
}

// containers returns a column with the names of the containers of a workload.
func containers[T runtime.Object](of func(T) []corev1.Container) column {
	return text("Containers", "Containers of a pod, by name", func(obj T) string {
		return join(of(obj), func(c corev1.Container) string { return c.Name })
	})
}

// images returns a column with the images of the containers of a workload.
func images[T runtime.Object](of func(T) []corev1.Container) column {
	return text("Images", "Images that the containers run", func(obj T) string {
		return join(of(obj), func(c corev1.Container) string { return c.Image })
	})
}

// join joins the texts of the items of a list.
func join[T any](list []T, show func(T) string) string {
	shown := make([]string, len(list))
	for i, item := range list {
		shown[i] = show(item)
	}
	return strings.Join(shown, ",")
}

// firstThree joins the first three items of a list and appends the number of the others.
func firstThree(list []string) string {
	if len(list) > 3 {
		return fmt.Sprintf("%s + %d more...", strings.Join(list[:3], ","), len(list)-3)
	}
	return strings.Join(list, ",")
}

// ageOf returns the time since t in a short form, such as "5m".
func ageOf(t, now time.Time) string {
	if t.IsZero() {
		return unknown
	}
	return duration.HumanDuration(now.Sub(t))
}

// valueOr returns the string that value points to, or fallback if it is nil.
func valueOr[T ~string](value *T, fallback string) string {
	if value == nil {
		return fallback
	}
	return string(*value)
}

// stringOr returns value, or fallback if it is empty.
func stringOr(value, fallback string) string {
	if value == "" {
		return fallback
	}
	return value
}

// deref returns the value of a pointer, or the zero value if it is nil.
func deref[T any](value *T) T {
	if value == nil {
		return *new(T)
	}
	return *value
}
