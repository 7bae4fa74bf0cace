package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// ObjectsType is the media type of a list with the columns of kubectl, the namespaces and the names, and without the objects. With the
// query parameter name=TEXT, it has only the objects whose names contain the text. A server without --console answers 406.
const ObjectsType = "application/json;as=Objects;g=console.holdfast.dev;v=v1"

// Objects are the objects of a part of a list.
type Objects struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Columns are the names of the columns that kubectl prints, without that of the name.
	Columns []string `json:"columns"`
	// Looked is the number of objects that the server has looked at. Continue is where to go on, empty at the end of the list.
	Looked   int    `json:"looked"`
	Continue string `json:"continue,omitempty"`
	Items    []Row  `json:"items"`
}

// Row is an object with its cells, one for each column.
type Row struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Cells     []any  `json:"cells"`
}

// printed is a Table with the metadata of the objects, as far as it is needed.
type printed struct {
	Metadata          struct{ Continue string } `json:"metadata"`
	ColumnDefinitions []struct {
		Name, Format string
		Priority     int
	} `json:"columnDefinitions"`
	Rows []struct {
		Cells  []any
		Object struct {
			Metadata struct{ Namespace, Name string }
		}
	} `json:"rows"`
}

// answerObjects answers with the objects of a list.
func (r *Reports) answerObjects(next http.Handler, w http.ResponseWriter, req *http.Request) {
	info, _ := request.RequestInfoFrom(req.Context())
	asked := req.Clone(req.Context())
	query := asked.URL.Query()
	query.Set("includeObject", "Metadata")
	asked.URL.RawQuery = query.Encode()
	read := readList(next, asked, "application/json;as=Table;g=meta.k8s.io;v=v1", maxLooked, "name")
	if read.Code != http.StatusOK {
		read.Replay(w)
		return
	}
	found, err := objectsOf(read.Body, strings.ToLower(query.Get("name")))
	if err != nil {
		writeStatus(w, apierrors.NewInternalError(fmt.Errorf("list of %s: %w", info.Resource, err)))
		return
	}
	writeJSON(w, http.StatusOK, found)
}

// objectsOf returns the objects of a table whose names contain a text.
func objectsOf(body []byte, text string) (*Objects, error) {
	var table printed
	if err := json.Unmarshal(body, &table); err != nil {
		return nil, err
	}
	out := &Objects{
		APIVersion: "console.holdfast.dev/v1", Kind: "Objects", Columns: []string{},
		Looked: len(table.Rows), Continue: table.Metadata.Continue, Items: []Row{},
	}
	var shown []int
	for i, column := range table.ColumnDefinitions {
		if column.Priority == 0 && column.Format != "name" {
			out.Columns, shown = append(out.Columns, column.Name), append(shown, i)
		}
	}
	for _, row := range table.Rows {
		at := row.Object.Metadata
		if !strings.Contains(strings.ToLower(at.Name), text) {
			continue
		}
		item := Row{Namespace: at.Namespace, Name: at.Name, Cells: []any{}}
		for _, i := range shown {
			if i < len(row.Cells) {
				item.Cells = append(item.Cells, row.Cells[i])
			}
		}
		out.Items = append(out.Items, item)
	}
	return out, nil
}
