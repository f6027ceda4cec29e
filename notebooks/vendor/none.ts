/** Replaces modules that Notebook Kit would load from a content network and no lesson uses. */
export default {};
