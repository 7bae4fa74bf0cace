// Package columns defines the columns that `kubectl get` prints for the built-in kinds.
//
//	table, ok := columns.For(&corev1.Pod{})
//	cells := table.Cells(pod, time.Now())
//
// A Table has the columns of one kind, and converts an object to a row with one cell for each column. kubectl prints columns
// with priority 1 only with `-o wide`. Names, order and content of the columns are those of Kubernetes 1.37.
//
// Tables are shared and must not be changed. They are safe for concurrent use.
package columns

import (
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Table defines how one kind is printed.
type Table struct {
	// Columns must not be changed.
	Columns []metav1.TableColumnDefinition

	row func(obj runtime.Object, now time.Time) []any
}

// Cells returns the row of obj, with one cell for each column. Ages are relative to now. obj must have the Go type with
// which the table was requested.
func (t Table) Cells(obj runtime.Object, now time.Time) []any {
	return t.row(obj, now)
}

// For returns the table for the Go type of obj. It returns false if that is not a built-in kind. For a list, call it with an
// item.
func For(obj runtime.Object) (Table, bool) {
	found, ok := tables[reflect.TypeOf(obj)]
	return found, ok
}
