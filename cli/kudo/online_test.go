package kudo_test

import (
	"testing"
)

// One server serves all; every test has a namespace of its own.
func TestOnline(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	w := start(t)
	for name, test := range map[string]func(*testing.T, world){
		"install":       testInstall,
		"update":        testUpdate,
		"upgrade":       testUpgrade,
		"rollback":      testRollback,
		"plans":         testPlans,
		"get-uninstall": testGetAndUninstall,
		"zookeeper":     testZooKeeper,
		"left-behind":   testNothingIsLeftBehind,
		"withdraw":      testWithdrawsOnlyItsOwn,
		"answer-lost":   testAnswerLost,
		"request-lost":  testRequestLost,
		"editor":        testEditorInstalls,
		"wait":          testWait,
		"wait-ends":     testWaitEnds,
		"wait-begins":   testWaitBegins,
		"urls":          testURLs,
		"bundled":       testBundled,
		"guestbook":     testGuestbook,
		"needed":        testNeeded,
		"circles":       testCircles,
		"dependency":    testUpgradeWithDependency,
	} {
		t.Run(name, func(t *testing.T) { test(t, w.enter(t, name)) })
	}
}
