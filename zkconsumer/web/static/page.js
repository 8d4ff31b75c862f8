// What every page does: choose colours, count ages on, and stay up to date.
import { startAges } from "./ages.js";
import { startCopying } from "./copying.js";
import { startForms } from "./forms.js";
import { startLive } from "./live.js";
import { startTheme } from "./themes.js";

startTheme();
startAges();
startLive();
startForms();
startCopying();
