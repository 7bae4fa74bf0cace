// Package failpoint marks steps between which a process may die, wait or fail, so that a test of the real program can make it do so.
//
//	failpoint.Reach("serviceip:stored")
//	if err := failpoint.Fail("serviceip:claim"); err != nil {
//		return err
//	}
//
// A failpoint has a name: the package, a colon, and the step. Bound lowers a bound that no test reaches in a reasonable time. Without the build
// tag failpoints, Reach and Fail are empty, and Bound returns its argument: the compiler leaves out the calls with their names, and the program
// has no failpoint. With the tag, a test controls the failpoints of a process in the way of gofail, which etcd uses:
//
//   - HOLDFAST_FAILPOINTS arms failpoints at the start, as in "quota:charge=3*off->panic;serviceip:stored=sleep(20)".
//   - HOLDFAST_FAILPOINTS_HTTP is an address at which the process serves them: PUT /NAME with an action arms a failpoint, DELETE
//     /NAME disarms it, and GET /NAME/count returns how often the process has reached it since then, or since the start.
//
// An action is "off", "panic", "sleep(MILLISECONDS)" or "return(TEXT)", an error with this text. "3*" before it means the first three times, and
// "->" leads to the next action. "panic" kills the process at once, with SIGKILL: the API server would recover from a panic.
// "return" is for Fail, and for Bound, where the text is the bound to use instead.
package failpoint
