package watches

import (
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	internalscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
)

// read returns the options of a usual request. It returns false for every other one, and for one with an error, which the library answers.
func (r *resource) read(req *http.Request) (internalversion.ListOptions, bool) {
	var options internalversion.ListOptions
	if err := internalscheme.ParameterCodec.DecodeParameters(req.URL.Query(), r.scope.MetaGroupVersion, &options); err != nil {
		return options, false
	}
	lists := utilfeature.DefaultFeatureGate.Enabled(features.WatchList)
	internalversion.SetListOptionsDefaults(&options, lists)
	if len(validation.ValidateListOptions(&options, lists)) > 0 || !options.Watch {
		return options, false
	}
	// The library compresses a watch that begins with a list.
	if beginsWithList(&options) && responsewriters.ContentEncodingSupported(req, features.WatchListCompression) != "" {
		return options, false
	}
	if options.FieldSelector != nil {
		selector, err := options.FieldSelector.Transform(func(label, value string) (string, string, error) {
			return r.scope.Convertor.ConvertFieldLabel(r.scope.Kind, label, value)
		})
		if err != nil {
			return options, false
		}
		options.FieldSelector = selector
	}
	return options, r.selectName(req, &options)
}

// beginsWithList reports whether a watch begins with the objects that exist, and with a bookmark behind them. This is also so if the client names no
// version and allows bookmarks.
func beginsWithList(options *internalversion.ListOptions) bool {
	return options.SendInitialEvents != nil && *options.SendInitialEvents && options.AllowWatchBookmarks
}

// selectName selects the object that the request names. A field selector for metadata.name is a name of the request too.
func (r *resource) selectName(req *http.Request, options *internalversion.ListOptions) bool {
	_, name, err := r.scope.Namer.Name(req)
	if err != nil {
		return true // the request names no object
	}
	if options.FieldSelector == nil || options.FieldSelector.Empty() {
		options.FieldSelector = fields.OneTermEqualSelector("metadata.name", name)
		return true
	}
	selected, ok := options.FieldSelector.RequiresExactMatch("metadata.name")
	return ok && selected == name
}

// acceptsUsual reports whether a request accepts an encoding of this package, with a media type that the router of the library knows, and asks for no
// transformation.
func acceptsUsual(req *http.Request) bool {
	accept := req.Header.Get("Accept")
	if accept == "" {
		return true
	}
	if strings.Contains(accept, "as=") {
		return false
	}
	for part := range strings.SplitSeq(accept, ",") {
		media, _, _ := strings.Cut(part, ";")
		switch strings.TrimSpace(media) {
		case "*/*", "application/json", "application/vnd.kubernetes.protobuf":
			return true
		}
	}
	return false
}
