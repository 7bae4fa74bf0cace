package kudo_test

import (
	"testing"
)

// TestOnline runs the tests that need a Holdfast server, with one server for all and one
// namespace for each.
func TestOnline(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	c := start(t)
	runTests(t, c, anyServer)
	runTests(t, c, map[string]func(*testing.T, cluster){
		"others":        testKeepsObjectsOfOthers,
		"response-lost": testResponseLost,
		"request-lost":  testRequestLost,
		"editor":        testEditorInstalls,
		"wait":          testWait,
		"wait-ends":     testWaitEnds,
		"wait-begins":   testWaitBegins,
		"urls":          testURLs,
		"bundled":       testBundled,
		"guestbook":     testGuestbook,
		"examples":      testExamples,
		"needed":        testNeeded,
		"circles":       testCircles,
		"diagnostics":   testDiagnostics,
		"dependency":    testUpgradeWithDependency,
	})
}

// anyServer are the tests for both a Holdfast server and a cluster that init was run for.
var anyServer = map[string]func(*testing.T, cluster){
	"install":       testInstall,
	"update":        testUpdate,
	"take-over":     testTakeOver,
	"upgrade":       testUpgrade,
	"rollback":      testRollback,
	"plans":         testPlans,
	"get-uninstall": testGetAndUninstall,
	"leftovers":     testLeftovers,
	"left":          testLeftOfEarlier,
	"definition":    testDefinitionLeft,
	"kudo-lines":    testKudoLines,
	"dry-run":       testDryRun,
	"public":        testPublicPackages,
	"zookeeper":     testZooKeeper,
	"refused":       testRefusedByServer,
}

// runTests runs tests, each in a namespace with its name.
func runTests(t *testing.T, c cluster, tests map[string]func(*testing.T, cluster)) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { test(t, c.enter(t, name)) })
	}
}
