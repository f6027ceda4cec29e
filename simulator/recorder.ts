/** The same for simulated and real runs. */
export { createRecorder, type Recorder } from '../engine/trace/recorder.ts';
