/** In place of what Notebook Kit would load from a content network and no lesson uses. */
export default {};
