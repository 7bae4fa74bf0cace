package writes_test

import (
	"os"
	"testing"

	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

func TestMain(m *testing.M) { os.Exit(servertest.ProcessMain(m)) }
