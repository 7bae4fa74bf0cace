package fairness_test

import (
	"os"
	"testing"

	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

// administrator is the administrator's client config for the server that the tests of this
// package share.
var administrator *rest.Config

func TestMain(m *testing.M) {
	os.Exit(servertest.Main(m, func(config *rest.Config) error {
		administrator = config
		return nil
	}))
}
