// The script that a page includes: registers <step-lab>, <step-fact> and <step-index>.
import "./elements/step-lab.js";
import "./elements/step-fact.js";
import "./elements/step-index.js";
