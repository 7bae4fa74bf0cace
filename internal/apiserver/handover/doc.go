// Package handover lets the filters of a watch end when the watch has begun, so that the watch waits for events on a small stack.
//
//	handler = handover.Around(filters(handover.Into(handler, config)))
//
// A request passes about forty filters of k8s.io/apiserver before its handler. Each filter calls the next one and does almost nothing when that one
// returns. As a watch runs for minutes, the stack of its goroutine holds the frames of all these calls, which made it 32 KB.
//
// [Around] runs the filters of a request that may be a watch in a goroutine of their own. [Into] is the last of them. It hands the request over
// to the goroutine of the request, which calls the handler. Into returns when the watch is initialized. At that moment the request also gives back its
// seat in its priority level. The filters return then, and their goroutine ends. This saves 20 KB of frames: the stack of a watch has 16 KB if the
// library serves it, and 8 KB if package watches does.
//
// The handler runs with the context that the filters made, and writes to the writer that Around got. This is right for a filter that does nothing
// after its handler has returned, and whose writer does nothing. The other filters of the library are treated one by one:
//
//   - The filter that recovers from panics goes around the handler once more.
//   - The filter that lets a shutdown wait for watches counts a watch until its filters end. Into counts it until the watch ends.
//   - The priority levels count the watches of each resource until the filters end. [Count] counts a watch until it ends.
//   - The audit log records the end of a request when the filters end, and its writer records the begin of the answer. So does the log of requests.
//     A watch that either of them records is not handed over.
//   - The filter for traces does nothing without an exporter. The server has none.
//
// A filter of this project that does something when its handler has returned does it with [AtEnd]. One that writes the answer itself calls [WriteTo].
//
// The build tag plain chooses the form that hands nothing over. The test TestLikeFilters compares both forms on random handlers, and fails if too
// few of them are handed over.
package handover
