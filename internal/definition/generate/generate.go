// Package generate writes CustomResourceDefinitions from Go types. The result is that of
// controller-gen, plus the keywords of Holdfast for markers in comments:
//
//	// +immutable
//	Hull string `json:"hull"`
//
// A marker is a comment line that begins with a plus sign, on a field or a type. A place is
// the field or the type that has a marker. A node is a node of the schema; several places
// may describe one node, such as a field and the type of the field.
//
//	result, err := generate.Run(ctx, generate.Options{Packages: []string{"./api/..."}})
//
// sigs.k8s.io/controller-tools, the library of controller-gen, loads the packages, reads the
// markers of kubebuilder and makes the schemas. Run starts the go command, which finds the
// packages. The error is of type [Problems] if the source is wrong.
package generate

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/crd"
	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"
)

// ControllerTools is the version of the library. controller-gen writes its own version into
// the annotation of a definition.
const ControllerTools = "v0.23.0"

const versionAnnotation = "controller-gen.kubebuilder.io/version"

// Options are the input of a run.
type Options struct {
	// Packages are patterns of Go packages, such as ./api/...
	Packages []string
	// Dir is the directory in which the go command runs, empty for the working directory.
	Dir string
	// Header is the text at the beginning of each file.
	Header string
	// The other options are those of controller-gen.
	AllowDangerousTypes, EmbeddedObjectMeta, IgnoreUnexportedFields bool
	// MaxDescriptionLength is nil for whole descriptions.
	MaxDescriptionLength *int
}

// File is a generated file.
type File struct {
	Name string
	Data []byte
}

// Result is what Run found.
type Result struct {
	// Files are sorted by name.
	Files []File
	// Warnings are about markers without effect, and about definitions that the server
	// would refuse for another reason than a marker.
	Warnings Problems
}

// Run generates the definitions of all kinds in the packages.
func Run(ctx context.Context, o Options) (*Result, error) {
	g := &generator{Options: o, output: memory{}}
	var generic genall.Generator = g
	runtime, err := genall.Generators{&generic}.ForRootsWithConfig(&packages.Config{Context: ctx, Dir: o.Dir}, o.Packages...)
	if err != nil {
		return nil, err
	}
	generation := runtime.GenerationContext
	generation.OutputRule = g.output
	if err := problemsOf(runtime.Roots, o.Dir); err != nil {
		return nil, err
	}
	if err := g.Generate(&generation); err != nil {
		return nil, err
	}
	if err := problemsOf(runtime.Roots, o.Dir); err != nil {
		return nil, err
	}
	if len(g.output) == 0 {
		return nil, fmt.Errorf("no kind in %s: a kind is a struct with json tags that embeds metav1.TypeMeta and metav1.ObjectMeta",
			strings.Join(o.Packages, ", "))
	}
	result := &Result{Warnings: g.warnings.relativeTo(o.Dir)}
	for name, data := range g.output {
		result.Files = append(result.Files, File{name, data.Bytes()})
	}
	slices.SortFunc(result.Files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return result, nil
}

// generator is a generator for package genall.
type generator struct {
	Options
	output   memory
	warnings Problems
}

// CheckFilter returns the filter of controller-gen for types that matter.
func (*generator) CheckFilter() loader.NodeFilter { return crd.Generator{}.CheckFilter() }

// RegisterMarkers registers the markers of kubebuilder and those of Holdfast.
func (*generator) RegisterMarkers(into *markers.Registry) error {
	if err := crdmarkers.Register(into); err != nil {
		return err
	}
	return register(into)
}

// Generate writes a file for each kind. It adds errors in the source to their packages.
func (g *generator) Generate(ctx *genall.GenerationContext) error {
	parser := &crd.Parser{
		Collector: ctx.Collector, Checker: ctx.Checker, AllowDangerousTypes: g.AllowDangerousTypes,
		IgnoreUnexportedFields: g.IgnoreUnexportedFields, GenerateEmbeddedObjectMeta: g.EmbeddedObjectMeta,
	}
	crd.AddKnownTypes(parser)
	for _, root := range ctx.Roots {
		parser.NeedPackage(root)
	}
	meta := crd.FindMetav1(ctx.Roots)
	if meta == nil {
		return nil
	}
	resolver := newResolver(parser)
	for _, kind := range crd.FindKubeKinds(parser, meta) {
		parser.NeedCRDFor(kind, g.MaxDescriptionLength)
		def, ok := parser.CustomResourceDefinitions[kind]
		if !ok {
			continue
		}
		if def.Annotations == nil {
			def.Annotations = map[string]string{}
		}
		def.Annotations[versionAnnotation] = ControllerTools
		crd.FixTopLevelMetadata(def)
		a := &annotator{resolver: resolver, group: kind.Group, kind: kind.Kind, places: map[string]mark{}}
		name := fmt.Sprintf("%s_%s.yaml", def.Spec.Group, def.Spec.Names.Plural)
		err := ctx.WriteYAML(name, g.Header, []any{def},
			genall.WithTransform(genall.TransformRemoveCreationTimestamp), genall.WithTransform(a.annotate))
		if err != nil {
			return fmt.Errorf("%s: %w", def.Name, err)
		}
		g.warnings = append(g.warnings, a.warnings...)
	}
	resolver.misspelled()
	return nil
}

// memory is the output rule that keeps files in memory.
type memory map[string]*bytes.Buffer

// Open returns a new file.
func (m memory) Open(_ *loader.Package, name string) (io.WriteCloser, error) {
	m[name] = &bytes.Buffer{}
	return unclosed{m[name]}, nil
}

type unclosed struct{ io.Writer }

// Close does nothing.
func (unclosed) Close() error { return nil }
